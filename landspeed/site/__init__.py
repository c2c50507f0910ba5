"""Records → asv's result files → the published site."""
