"""In which functions two servers differ."""
