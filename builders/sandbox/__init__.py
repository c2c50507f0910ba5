"""Run the steps of a recipe on this machine, with their log, progress and CPU time.

Start at ``host.Host`` and ``steps.Sandbox``.
"""

from builders.sandbox.host import Host, printed, refusal_of
from builders.sandbox.steps import Progress, Sandbox

__all__ = ["Host", "Progress", "Sandbox", "printed", "refusal_of"]
