"""What tests share: pretended programs, made-up worlds, small upstreams."""
