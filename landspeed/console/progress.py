"""Progress on stderr: what, how far, how long still; a bar on a terminal, else sparse lines."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from landspeed.console.format import printable

_LINE_SECONDS = 20.0

# what is said may be anyone's words: ":bug:" is no picture in them
console = Console(stderr=True, highlight=False, emoji=False)


def say(text: str) -> None:
    """Print one line of talk on stderr."""
    console.print(printable(text), markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Return a length of time as people read it: ``8 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@dataclass(kw_only=True)
class Meter:
    """How far one long piece of work has come; ``update`` is cheap and may be called often."""

    title: str
    began: float = field(default_factory=time.monotonic)
    _bar: Progress | None = None
    _last_line: float = field(default_factory=time.monotonic)

    def update(self, share: float, doing: str, left: float | None = None) -> None:
        """Show that *share* (0 … 1) is done; *doing* names what runs; *left* is in seconds.

        Without *left* the rest is estimated from the share and the time it took.
        """
        elapsed = time.monotonic() - self.began
        if left is None and share > 0.05:
            left = elapsed * (1 - share) / share
        rest = f"about {duration(left)} left" if left is not None else ""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=share, doing=doing, rest=rest)
        elif time.monotonic() - self._last_line >= _LINE_SECONDS:
            self._last_line = time.monotonic()
            parts = [f"{self.title}: {share:4.0%}", doing, rest]
            say("  " + ", ".join(p for p in parts if p))


@contextmanager
def meter(title: str) -> Iterator[Meter]:
    """Provide a Meter for the work in the block: a bar when stderr is a terminal."""
    if not sys.stderr.isatty():
        yield Meter(title=title)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}", markup=False),
        TextColumn("{task.fields[doing]}", markup=False, style="dim"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(title, total=1.0, doing="", rest="")
        yield Meter(title=title, _bar=bar)


_PACKAGES = ("base", "builders", "benchmarks")


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
