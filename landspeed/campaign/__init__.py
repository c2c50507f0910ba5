"""Plan and measure what is missing, interleaved."""
