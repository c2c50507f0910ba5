"""Statistics on arrays of numbers; pure, with the source of each formula."""
