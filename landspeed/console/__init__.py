"""Talk to a person or a workflow log: progress, Markdown, durations, annotations."""
