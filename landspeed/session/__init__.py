"""The parts that a command needs, put together for this machine and project."""
