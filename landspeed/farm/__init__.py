"""What the workflows call: what is new, results on a branch of their own, builds as archives, issues."""
