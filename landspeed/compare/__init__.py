"""Compare two or more servers until the answer is sure or the budget is spent."""
