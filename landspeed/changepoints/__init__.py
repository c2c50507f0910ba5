"""Changes of level: nominated by a series, confirmed by fresh samples."""
