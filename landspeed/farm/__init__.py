"""What the workflows call: what is new, the results branch, builds as archives, and issues."""
