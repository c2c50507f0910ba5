"""What is known, built and measured of each release: the rows of ``landspeed list``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from base.build import Build
from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.records.store import RecordStore
from builders.source import ReleaseStatus
from landspeed.console.format import counted
from landspeed.results.run import origin_of
from landspeed.session.session import Session


@dataclass(frozen=True, kw_only=True)
class InventoryRow:
    """One release or commit: its source, its builds, its runs by variant.

    ``reach`` says how each configured source would provide it.
    """

    name: str
    date: str
    source: str
    reach: tuple[str, ...]
    built: tuple[str, ...]
    runs: dict[str, int]


def listing(session: Session) -> list[InventoryRow]:
    """List known releases, then everything else built, registered or measured, without network."""
    built = _built([*session.builder.store.all(), *session.external_servers.all()])
    runs = _runs(session.records)
    statuses = {str(one.version): one for one in session.builder.sources.statuses()}
    others = sorted((built.keys() | runs.keys()) - statuses.keys())
    return [
        InventoryRow(
            name=name,
            date=status.date.isoformat() if status and status.date else "",
            source=_source(name, status),
            reach=status.reach if status else (),
            built=tuple(built.get(name, ())),
            runs=dict(runs.get(name, {})),
        )
        for name in (*statuses, *others)
        for status in (statuses.get(name),)
    ]


def _source(name: str, status: ReleaseStatus | None) -> str:
    """Return where the source of *name* is; it is no release if it has no *status*."""
    if status is None:
        return "built elsewhere" if name.startswith("@") else "commit"
    if status.is_here:
        return f"here ({(status.taken_from or '').split(' ')[0]})"
    return "reachable" if status.is_reachable else "out of reach"


def _built(builds: Iterable[Build]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for build in builds:
        if not build.program("postgres").exists():  # pgbench alone
            continue
        names[build.origin.name].append(build.variant.name)
    return {name: sorted(set(variants)) for name, variants in names.items()}


def _runs(records: RecordStore) -> dict[str, dict[str, int]]:
    keys = ["release", "commit", "tree", "registered", *VARIANT_COLUMNS]
    rows = records.table([*keys, "id"]).group_by(keys).aggregate([("id", "count")])
    runs: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows.to_pylist():
        runs[origin_of(row).name][variant_of(row).name] += row["id_count"]
    return runs


def render_listing(rows: Sequence[InventoryRow]) -> str:
    """Return the rows as a table, and below it how to reach the sources that are out of reach."""
    lines = [f"{'release':<12} {'date':<10}  {'source':<15}  {'built':<16}  measured"]
    for row in rows:
        measured = ", ".join(
            f"{counted(n, 'run')} {variant}" for variant, n in sorted(row.runs.items())
        )
        lines.append(
            f"{row.name:<12} {row.date:<10}  {row.source:<15}  "
            f"{' '.join(row.built) or '-':<16}  {measured or '-'}"
        )
    missing = [row for row in rows if row.source == "out of reach"]
    if missing:
        lines += ["", f"{len(missing)} are out of reach; {missing[-1].name} would come from:"]
        lines += [f"  {line}" for line in missing[-1].reach]
    return "\n".join(lines)
