"""Show in which functions the costs of two servers differ."""
