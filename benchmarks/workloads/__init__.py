"""What is asked of a server: scenarios, presets, scripts, metrics, and points."""
