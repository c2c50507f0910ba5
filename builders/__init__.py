"""A release or commit in, a proven install prefix out."""
