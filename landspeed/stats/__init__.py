"""Statistics on arrays, without knowledge of records or servers."""
