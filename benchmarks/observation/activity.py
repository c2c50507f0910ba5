"""What a server's processes are doing at one moment, asked by SQL in the words of its version."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:  # its words are read where nobody connects
    import psycopg

CLIENTS, AUTOVACUUM = "client backend", "autovacuum worker"
"""The kinds of process that every version is asked for; later ones name more."""

WORKERS = "worker: "
"""What the kinds of processes of a worker's server begin with: see Topology."""

LOCK = "Lock"
"""How waiting for a lock begins in every version's words."""

_IDLE_PROCESS = "Activity:"  # the main loop of a background process that has nothing to do
_LOCKS = "SELECT locktype || ' ' || mode, count(*) FROM pg_locks WHERE NOT granted GROUP BY 1"

Doing = dict[str, dict[str, int]]
"""How many processes of each kind were doing what: ``{"client backend": {"running": 3}}``."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """The query for a server's pg_stat_activity, made for the columns that the view has.

    From 10 on a process names what it waits for, and background processes are there too; 9.6
    names it for clients; before there is only whether a backend waits for a lock.
    """

    query: str

    @classmethod
    def of_columns(cls, columns: Collection[str]) -> Self:
        """The Activity of a pg_stat_activity with *columns*."""
        pid = "pid" if "pid" in columns else "procpid"
        query = "query" if "query" in columns else "current_query"
        kind = (
            "backend_type"
            if "backend_type" in columns
            else f"CASE WHEN {query} LIKE 'autovacuum:%' THEN '{AUTOVACUUM}' ELSE '{CLIENTS}' END"
        )
        if "wait_event" in columns:
            waits = "wait_event_type || ':' || wait_event"
        else:
            waits = f"CASE WHEN waiting THEN '{LOCK}' END"
        if "state" in columns:
            idle = "CASE WHEN state LIKE 'idle%' THEN state END"
        else:
            idle = (
                "CASE WHEN current_query LIKE '<IDLE>%'"
                " THEN lower(translate(current_query, '<>', '')) END"
            )
        return cls(  # all parts are ours
            query=f"SELECT {kind}, coalesce({waits}, {idle}, 'running'), count(*)"  # noqa: S608
            f" FROM pg_stat_activity WHERE {pid} <> pg_backend_pid() GROUP BY 1, 2"
        )

    @classmethod
    def of(cls, connection: psycopg.Connection[Any]) -> Self:
        """The Activity of the server that *connection* is to."""
        rows = connection.execute(
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = 'pg_catalog.pg_stat_activity'::regclass AND attnum > 0"
        ).fetchall()
        return cls.of_columns({name for (name,) in rows})

    def now(self, connection: psycopg.Connection[Any]) -> tuple[Doing, dict[str, int]]:
        """What the processes are doing, and the locks that are waited for.

        Looking at locks stops the whole lock manager for a moment: it is done where somebody
        waits for one. psycopg.Error if the server does not answer.
        """
        # planned once: the view joins tables in some versions
        doing = seen(connection.execute(self.query.encode(), prepare=True).fetchall())
        locks: dict[str, int] = {}
        if any(what.startswith(LOCK) for one in doing.values() for what in one):
            locks = dict(connection.execute(_LOCKS.encode(), prepare=True).fetchall())
        return doing, locks


def seen(rows: Collection[tuple[str | None, str, int]]) -> Doing:
    """*rows* of the query without the background processes that had nothing to do."""
    doing: Doing = {}
    for kind, what, count in rows:
        if kind == CLIENTS or not what.startswith(_IDLE_PROCESS):
            doing.setdefault(kind or "other", {})[what] = count
    return doing


def add(total: Doing, more: Mapping[str, Mapping[str, int]]) -> None:
    """Add the numbers of *more* to *total*."""
    for kind, one in more.items():
        into = total.setdefault(kind, {})
        for what, count in one.items():
            into[what] = into.get(what, 0) + count
