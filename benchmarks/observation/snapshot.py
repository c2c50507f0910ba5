"""What a server says of itself, by SQL that every version from 8.3 understands."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from benchmarks.machine.processes import storage_bytes
from benchmarks.server.cluster import Cluster

_DATABASE_VIEW = "pg_stat_database"
# Set by initdb or by the build, and so not "changed", but worth knowing.
_ALWAYS = ("data_checksums", "block_size", "wal_block_size", "huge_pages_status", "wal_buffers")
# Paths of this one run, how we talk to the server, and the locale initdb always gets.
_NEVER = re.compile(
    r"data_directory|\w+_file|unix_socket_director\w+|port|application_name"
    r"|lc_\w+|DateStyle|TimeZone|log_timezone|timezone_abbreviations|default_text_search_config"
)
_NO_COUNTS = ("datid", "numbackends")
# What else a server may count of itself. Which of them there are, its catalog says; of those
# with many rows only what grew is kept.
_VIEWS = ("pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal")
_VIEWS_OF_ROWS = ("pg_stat_io", "pg_stat_slru")
# 10 renamed it in February and in May of 2017.
_WAL_POSITIONS = (
    "pg_current_xlog_insert_location",
    "pg_current_wal_insert_location",
    "pg_current_wal_insert_lsn",
)
# The longest that counts of a server with lagging statistics are waited for. The collector
# writes its file at most every 0.5 s (PGSTAT_STAT_INTERVAL).
_LAG_SECONDS = 2.0
_POLL_SECONDS = 0.02
# Without a session that ends for so long, those that are left are taken for residents.
_QUIET_SECONDS = 0.2
_ABOVE_LOG = re.compile(r"\b(WARNING|ERROR|FATAL|PANIC):")
_LOG_LINES = 50

Statistics = dict[str, dict[str, float]]
Indexes = Sequence[tuple[str, str, str]]
"""Table, column that is indexed, and one that is not in the index (Scenario.indexes)."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A server's counters at one moment; WAL in bytes, CPU time in seconds.

    ``statistics`` are the numeric columns of the statistics views by view, None where
    the server had not counted up to what it was known to have done. ``storage`` are the bytes
    that its processes read from storage and wrote, None where nobody may look. ``automatic``
    are the tables that autovacuum has been at, and when.
    """

    statistics: Statistics | None
    wal_bytes: int
    cpu_seconds: float
    storage: tuple[int, int] | None = None
    automatic: Mapping[str, str] = field(default_factory=dict)

    def count(self, column: str) -> float:
        """A column of pg_stat_database; 0 where the counters are not known."""
        return self.statistics[_DATABASE_VIEW][column] if self.statistics else 0.0


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What happened on the server between two snapshots."""

    server_cpu_seconds: float
    wal_bytes: int
    blocks_hit: int | None
    blocks_read: int | None
    statistics: Statistics | None
    storage_read_bytes: int | None
    storage_write_bytes: int | None
    autovacuumed: tuple[str, ...]


def settings(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """The server's settings that are not the built-in defaults, with their units."""
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings"
        " WHERE source NOT IN ('default', 'override', 'client', 'session')"
        " OR name = ANY (%s)"
        " ORDER BY name",
        [list(_ALWAYS)],
    ).fetchall()
    return {name: value for name, value in rows if not _NEVER.fullmatch(name)}


def database_bytes(connection: psycopg.Connection[Any]) -> int:
    """The size of the database in bytes."""
    row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(row[0]) if row else 0


def database_counter(connection: psycopg.Connection[Any], column: str) -> float:
    """A column of pg_stat_database now."""
    return _statistics(connection, [_DATABASE_VIEW])[_DATABASE_VIEW][column]


def wal_position(connection: psycopg.Connection[Any]) -> str:
    """Return the SQL that says where WAL is being written, in the server's own words."""
    names = list(_WAL_POSITIONS)
    rows = connection.execute("SELECT proname FROM pg_proc WHERE proname = ANY (%s)", [names])
    ((name,),) = rows.fetchall()
    return f"SELECT {name}()::text"


def warm(connection: psycopg.Connection[Any], indexes: Indexes) -> int:
    """Read every row through each of *indexes* into shared buffers; how many those were.

    An index scan is the one read of a whole table that every version does through
    all of shared_buffers, not through a small ring; the other column is not in the index, so
    the table is read too.
    """
    _only(connection, "enable_seqscan", "enable_bitmapscan")
    return sum(_count(connection, table, other, key) for table, key, other in indexes)


def cache_files(connection: psycopg.Connection[Any], indexes: Indexes) -> None:
    """Have the server read *indexes* and their tables into the kernel's page cache.

    The table by a scan that leaves next to nothing in shared buffers, the index by one that
    reads nothing else where the version can.
    """
    for off in ("enable_indexscan", "enable_seqscan"):
        _only(connection, off, "enable_bitmapscan")
        for table, key, _ in indexes:
            _count(connection, table, key, key)


def _only(connection: psycopg.Connection[Any], *off: str) -> None:
    """Let the planner have what it has by default but for these."""
    connection.execute("RESET ALL")
    for name in off:
        connection.execute(sql.SQL("SET {} = off").format(sql.Identifier(name)))


def _count(connection: psycopg.Connection[Any], table: str, column: str, key: str) -> int:
    query = sql.SQL("SELECT count({}) FROM {} WHERE {} > 0")
    row = connection.execute(query.format(*map(sql.Identifier, (column, table, key)))).fetchone()
    return int(row[0]) if row else 0


def snapshot(
    cluster: Cluster, *, at_least: Mapping[str, float] | None = None, residents: bool = False
) -> Snapshot:
    """The counters of *cluster* now, by a connection of its own.

    *at_least* names columns of pg_stat_database and what they must have reached:
    where a version's statistics lag, they are waited for, and None if they do not come.
    Sessions that are ending are waited for; of those that may be *residents*, no longer.
    """
    with cluster.connect() as connection:
        views, position = [_DATABASE_VIEW, *_views_of(connection)], wal_position(connection)
        _wait_until_alone(connection, residents=residents)
        # these first: what follows is our own
        cpu_seconds = cluster.cpu_seconds()
        storage = storage_bytes(cluster.pid)
        row = connection.execute(position.encode()).fetchone()
        wal_bytes = cluster.dialect.wal_bytes(row[0]) if row else 0
        statistics = _wait(lambda: _statistics(connection, views), at_least or {})
        automatic = _automatic(connection)
    return Snapshot(
        statistics=statistics,
        wal_bytes=wal_bytes,
        cpu_seconds=cpu_seconds,
        storage=storage,
        automatic=automatic,
    )


def between(before: Snapshot, after: Snapshot) -> Observation:
    """What happened from *before* to *after*."""
    statistics = _difference(before.statistics, after.statistics)
    database = statistics[_DATABASE_VIEW] if statistics else {}
    read, written = _grown(before.storage, after.storage)
    touched = after.automatic.items() - before.automatic.items()
    return Observation(
        server_cpu_seconds=round(after.cpu_seconds - before.cpu_seconds, 3),
        wal_bytes=after.wal_bytes - before.wal_bytes,
        blocks_hit=_whole(database.get("blks_hit")),
        blocks_read=_whole(database.get("blks_read")),
        statistics=statistics,
        storage_read_bytes=read,
        storage_write_bytes=written,
        autovacuumed=tuple(sorted(name for name, _ in touched)),
    )


def together(observations: Sequence[Observation]) -> Observation:
    """What happened on several servers, added up; a number that one of them lacks is not known."""
    first, *others = observations
    for other in others:
        first = Observation(
            server_cpu_seconds=round(first.server_cpu_seconds + other.server_cpu_seconds, 3),
            wal_bytes=first.wal_bytes + other.wal_bytes,
            blocks_hit=_sum(first.blocks_hit, other.blocks_hit),
            blocks_read=_sum(first.blocks_read, other.blocks_read),
            statistics=_added(first.statistics, other.statistics),
            storage_read_bytes=_sum(first.storage_read_bytes, other.storage_read_bytes),
            storage_write_bytes=_sum(first.storage_write_bytes, other.storage_write_bytes),
            autovacuumed=tuple(sorted({*first.autovacuumed, *other.autovacuumed})),
        )
    return first


def noteworthy(log: str) -> str:
    """The last lines of a server's *log* that are above LOG."""
    lines = [line for line in log.splitlines() if _ABOVE_LOG.search(line)]
    return "\n".join(lines[-_LOG_LINES:])


def _wait_until_alone(connection: psycopg.Connection[Any], *, residents: bool) -> None:
    """Wait for backends that are just ending: a backend tells its counts when it does.

    Where some are *residents*, that is until none has ended for a while.
    """
    began = since = time.monotonic()
    query = "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
    last = None
    while (now := time.monotonic()) < began + _LAG_SECONDS:
        row = connection.execute(query).fetchone()
        others = row[0] if row else 0
        if others != last:
            last, since = others, now
        if others <= 0 or (residents and now >= since + _QUIET_SECONDS):
            return
        time.sleep(_POLL_SECONDS)


def _wait(read: Callable[[], Statistics], at_least: Mapping[str, float]) -> Statistics | None:
    deadline = time.monotonic() + _LAG_SECONDS
    while True:
        statistics = read()
        database = statistics[_DATABASE_VIEW]
        if all(database.get(name, 0) >= count for name, count in at_least.items()):
            return statistics
        if time.monotonic() > deadline:
            return None
        time.sleep(_POLL_SECONDS)


def _views_of(connection: psycopg.Connection[Any]) -> list[str]:
    """Those of the views that this server has."""
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'pg_catalog' AND c.relname = ANY (%s)",
        [[*_VIEWS, *_VIEWS_OF_ROWS]],
    ).fetchall()
    there = {name for (name,) in rows}
    return [name for name in (*_VIEWS, *_VIEWS_OF_ROWS) if name in there]


def _statistics(connection: psycopg.Connection[Any], views: Sequence[str]) -> Statistics:
    statistics = {}
    for view in views:
        query = sql.SQL("SELECT * FROM {}").format(sql.Identifier(view))
        if view == _DATABASE_VIEW:
            query += sql.SQL(" WHERE datname = current_database()")
        with connection.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(query).fetchall()
        several = view in _VIEWS_OF_ROWS
        statistics[view] = {
            f"{_row_name(row)}.{name}" if several else name: float(value)
            for row in rows
            for name, value in row.items()
            if name not in _NO_COUNTS and isinstance(value, int | float | Decimal)
        }
    return statistics


def _row_name(row: Mapping[str, Any]) -> str:
    """What tells a row of a view from its others, ``client backend/relation/normal``."""
    return "/".join(value for value in row.values() if isinstance(value, str))


def _automatic(connection: psycopg.Connection[Any]) -> dict[str, str]:
    rows = connection.execute(
        "SELECT schemaname || '.' || relname,"
        " coalesce(last_autovacuum::text, '') || ' ' || coalesce(last_autoanalyze::text, '')"
        " FROM pg_stat_all_tables"
        " WHERE last_autovacuum IS NOT NULL OR last_autoanalyze IS NOT NULL"
    ).fetchall()
    return dict(rows)


def _difference(before: Statistics | None, after: Statistics | None) -> Statistics | None:
    if before is None or after is None:
        return None
    grown = {
        view: {name: round(after[view][name] - value, 3) for name, value in columns.items()}
        for view, columns in before.items()
    }
    for view in _VIEWS_OF_ROWS:
        if view in grown:
            grown[view] = {name: count for name, count in grown[view].items() if count}
    return grown


def _added(one: Statistics | None, other: Statistics | None) -> Statistics | None:
    if one is None or other is None:
        return None
    total = {view: dict(columns) for view, columns in one.items()}
    for view, columns in other.items():
        into = total.setdefault(view, {})
        for name, count in columns.items():
            into[name] = round(into.get(name, 0.0) + count, 3)
    return total


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _grown(
    before: tuple[int, int] | None, after: tuple[int, int] | None
) -> tuple[int | None, int | None]:
    if before is None or after is None:
        return None, None
    return after[0] - before[0], after[1] - before[1]


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
