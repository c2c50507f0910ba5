"""Instructions per transaction, counted exactly by callgrind."""
