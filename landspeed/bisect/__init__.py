"""Bisection that knows how noisy it is: which commit made the difference, or that none did."""
