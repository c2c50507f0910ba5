"""The farm verbs: what the workflows on GitHub Actions call."""
