"""Superuser, database and time limits of a measured server.

It imports nothing, so that commands which ask no server need not import psycopg.
"""

from __future__ import annotations

SUPERUSER = "postgres"
DATABASE = "postgres"
ANSWER_SECONDS = 3600.0
"""How long a query may take. Measured code can hang, and a sweep has other builds to measure."""


def load_seconds(scale: int) -> float:
    """Return how long a query, or a client, that loads data of *scale* may take.

    A scale is 15 MB. The six hours are for data of a person's own, whose size nobody knows.
    """
    return 6 * ANSWER_SECONDS + 10.0 * scale
