"""Run the steps of a recipe on this machine, with their log, progress and CPU time."""

from builders.sandbox.host import Host, Progress, printed, refusal_of

__all__ = ["Host", "Progress", "printed", "refusal_of"]
