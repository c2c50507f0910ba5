"""The JobServer: one stock of compile jobs for every build of a set, in GNU make's protocol.

A program that compiles owns one job by being there, and takes a token from a pipe for each
more: however many builds run, no more compilers run than there are jobs in all. See
https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_TOKEN = b"+"


@dataclass(frozen=True, kw_only=True)
class JobServer:
    """A pipe with a token for each job that no build owns: its two file descriptors."""

    taking: int
    giving: int

    @property
    def descriptors(self) -> tuple[int, int]:
        """What a program that compiles must inherit."""
        return self.taking, self.giving

    @property
    def environment(self) -> dict[str, str]:
        """What tells make and ninja of it; the option -j on their command line outranks it."""
        return {"MAKEFLAGS": f" -j --jobserver-auth={self.taking},{self.giving}"}

    def give(self) -> None:
        """Put a job into the stock: a build that owned it has ended, and no other takes over."""
        os.write(self.giving, _TOKEN)


@contextmanager
def job_server(tokens: int) -> Iterator[JobServer]:
    """Yield a JobServer with *tokens* in stock, besides the one that each build owns."""
    taking, giving = os.pipe()
    try:
        server = JobServer(taking=taking, giving=giving)
        for _ in range(tokens):
            server.give()
        yield server
    finally:
        os.close(taking)
        os.close(giving)
