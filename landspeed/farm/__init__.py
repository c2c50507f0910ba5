"""What the workflows call: plan what to measure, carry results between jobs, keep the issues."""
