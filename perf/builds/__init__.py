"""What building costs."""
