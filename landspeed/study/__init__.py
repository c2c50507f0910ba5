"""Studies: one question over named axes, from a file to a report."""
