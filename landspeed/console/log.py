"""Print what the builders and benchmarks packages log to the person at the command line."""

from __future__ import annotations

import logging

from landspeed.console.progress import say

_PACKAGES = ("builders", "benchmarks")


class _ConsoleHandler(logging.Handler):
    """Prints each message as one line of talk, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def install_log_handler() -> None:
    """Print messages of level INFO and above on stderr; a second call changes nothing."""
    for name in _PACKAGES:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        if not any(isinstance(handler, _ConsoleHandler) for handler in logger.handlers):
            logger.addHandler(_ConsoleHandler())
