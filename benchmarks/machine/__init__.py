"""The machine that measures: its parts, processes, processors, memory and lock."""
