"""Connections to a server that is measured. None of them waits for ever."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

from benchmarks.server.endpoint import ANSWER_SECONDS, SUPERUSER
from benchmarks.server.home import PORT


class NoAnswerError(psycopg.OperationalError):
    """A query took too long: its text, after "the server", says how long."""


class Connection(psycopg.Connection[Any]):
    """A connection on which a query takes ``seconds`` at most.

    Else it is closed, and that is a NoAnswerError. The server's own
    statement_timeout does not end code that never looks for an interrupt.
    """

    seconds = ANSWER_SECONDS

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Do what psycopg does, with a limit where it has none."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        began = time.monotonic()
        try:
            return super().wait(gen, interval, self.seconds)
        except psycopg.OperationalError as error:
            if time.monotonic() - began < self.seconds:
                raise
            self.close()  # what the server says from now on answers nothing
            raise NoAnswerError(f"did not answer a query in {self.seconds:g} s") from error


def connect(host: Path, *, database: str, seconds: float = ANSWER_SECONDS) -> Connection:
    """Return a connection of the superuser in autocommit mode; a query takes *seconds* at most.

    Nothing in the caller's environment (PGSERVICE, PGOPTIONS, …) may send us to another server or
    change how this one is used, so it is forgotten. psycopg.Error if there is none.
    """
    for name in [name for name in os.environ if re.fullmatch(r"PG[A-Z]+", name)]:
        os.environ.pop(name, None)  # another thread may have been here
    made = Connection.connect(
        host=str(host),
        port=PORT,
        user=SUPERUSER,
        dbname=database,
        connect_timeout=30,
        application_name="landspeed",
        autocommit=True,
    )
    made.seconds = seconds
    return made
