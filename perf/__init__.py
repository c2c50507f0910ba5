"""Benchmarks of landspeed itself, one JSON line for each figure, and the score of replays."""
