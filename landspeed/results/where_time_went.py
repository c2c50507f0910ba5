"""Where the time went: what server and machine were doing in the Runs of one point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.observation.activity import CLIENTS, WORKERS
from benchmarks.observation.warnings import (
    Record,
    checkpoints,
    client_share,
    client_text,
    pages_written,
)
from benchmarks.workloads.sysbench_modes import SYSBENCH

_MOST = 6
_STATEMENT_WIDTH = 40


def evidence_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Title and text for each thing that was seen; medians of the Runs that have it.

    None of those that were measured by an older landspeed, or counted.
    """
    seen = [record for record in records if record.get("evidence")]
    if not seen:
        return []
    rows = (
        ("processors", _processors(seen)),
        ("client", _client(seen)),
        ("backends", _backends(seen, CLIENTS)),
        ("workers' backends", _backends(seen, WORKERS + CLIENTS)),
        ("servers", _servers(seen)),
        ("other processes", _others(seen)),
        ("locks waited for", _counted(_sum(r["evidence"]["locks"] for r in seen))),
        ("statements", _statements(seen)),
        ("buffers", _buffers(seen)),
        ("WAL, checkpoints", _wal(seen)),
        ("disk", _disk(seen)),
        ("server's own I/O", _server_io(seen)),
        ("memory", _memory(seen)),
        ("looking cost", _cost(seen)),
    )
    return [(title, text) for title, text in rows if text]


def client_told(record: Record) -> str:
    """Which client made the Run of *record*: its version, and its build or its rows."""
    other = record.get(SYSBENCH)
    if other:
        return f"{SYSBENCH} {other['version']} ({other['rows']:,} rows)"
    return f"pgbench {record['pgbench']['version']} ({record['pgbench']['build']})"


def _middle(records: Sequence[Record], of: Callable[[Record], float | None]) -> float | None:
    values = [value for record in records if (value := of(record)) is not None]
    return median(values) if values else None


def _processors(records: Sequence[Record]) -> str:
    kinds = ("user", "system", "iowait", "steal", "idle")
    shares = {kind: median(r["evidence"]["cpu"].get(kind, 0.0) for r in records) for kind in kinds}
    switches = median(r["evidence"]["context_switches"] / _seconds(r) for r in records)
    told = ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items())
    return f"{told}; {switches:,.0f} context switches/s"


def _client(records: Sequence[Record]) -> str:
    share = _middle(records, client_share)
    return "" if share is None else client_text(records[0], share)


def _servers(records: Sequence[Record]) -> str:
    """What each server did of all work, where there are a coordinator and workers."""
    seen = [one for record in records for one in (record.get("topology") or {}).get("servers", ())]
    spent: dict[str, float] = {}
    for one in seen:
        spent[one["name"]] = spent.get(one["name"], 0.0) + one["cpu_seconds"]
    total = sum(spent.values())
    if not total:
        return ""
    told = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in spent.items())
    return f"{told} of their processor time"


def _backends(records: Sequence[Record], kind: str) -> str:
    waits = _sum(record["evidence"]["waits"].get(kind, {}) for record in records)
    looks = sum(record["evidence"]["looks"] for record in records)
    total = sum(waits.values())
    if not total:
        return ""
    told = ", ".join(f"{what} {count / total:.0%}" for what, count in waits.most_common(_MOST))
    return f"{told} ({looks} looks at {total} backends)"


def _others(records: Sequence[Record]) -> str:
    kinds: Counter[str] = Counter()
    for record in records:
        for kind, waits in record["evidence"]["waits"].items():
            if kind not in (CLIENTS, WORKERS + CLIENTS):
                kinds.update({f"{kind} {what}": count for what, count in waits.items()})
    return _counted(kinds)


def _statements(records: Sequence[Record]) -> str:
    times: dict[str, list[float]] = {}
    for record in records:
        for text, milliseconds in record["evidence"].get("statements", ()):
            times.setdefault(text, []).append(milliseconds)
    return ", ".join(
        f"{_shortened(text)} {median(values):.3f} ms" for text, values in times.items()
    )


def _shortened(text: str) -> str:
    text = text.removesuffix(";")
    return text if len(text) <= _STATEMENT_WIDTH else f"{text[: _STATEMENT_WIDTH - 1]}…"


def _buffers(records: Sequence[Record]) -> str:
    share = _middle(records, _missed)
    written = _middle(records, pages_written)
    if share is None:
        return ""
    return f"{share:.2%} of pages read in, the others found; {written:,.0f} pages written a run"


def _missed(record: Record) -> float | None:
    hit, read = record["sample"].get("blocks_hit"), record["sample"].get("blocks_read")
    return None if hit is None or read is None or hit + read == 0 else read / (hit + read)


def _wal(records: Sequence[Record]) -> str:
    bytes_ = _middle(records, lambda r: r["sample"]["wal_bytes"] / r["sample"]["transactions"])
    counts = [count for record in records if (count := checkpoints(record)) is not None]
    told = f"{bytes_:,.0f} bytes of WAL a transaction"
    if not counts:
        return told
    some = sum(count > 0 for count in counts)
    return f"{told}; checkpoints began in {some} of {len(counts)} runs"


def _disk(records: Sequence[Record]) -> str:
    why = records[0]["evidence"]["disk"].get("why")
    if why:
        return str(why)
    seen = [record for record in records if "device" in record["evidence"]["disk"]]
    parts = [_way(seen, "read", "reads"), _way(seen, "write", "writes")]
    busy = _middle(seen, lambda r: r["evidence"]["disk"]["busy"])
    return f"{seen[0]['evidence']['disk']['device']}: {', '.join(parts)}, busy {busy:.0%}"


def _way(records: Sequence[Record], one: str, several: str) -> str:
    rate = _middle(records, lambda r: r["evidence"]["disk"][several] / _seconds(r))
    size = _middle(records, lambda r: r["evidence"]["disk"][f"{one}_bytes"] / _seconds(r))
    took = _middle(records, lambda r: r["evidence"]["disk"][f"{one}_ms"])
    told = f"{rate:,.0f} {several}/s ({_size(size or 0.0)}/s"
    return f"{told}, {took:.2f} ms each)" if took is not None else f"{told})"


def _server_io(records: Sequence[Record]) -> str:
    read = _middle(records, lambda r: r["evidence"]["server_io"]["read_bytes"])
    written = _middle(records, lambda r: r["evidence"]["server_io"]["write_bytes"])
    if read is None or written is None:
        return ""
    return f"read {_size(read)} from storage and wrote {_size(written)} a run"


def _memory(records: Sequence[Record]) -> str:
    available = _middle(records, lambda r: r["evidence"]["memory"].get("available"))
    dirty = _middle(records, lambda r: r["evidence"]["memory"].get("dirty"))
    if available is None or dirty is None:
        return ""
    return f"at least {_size(available)} available, at most {_size(dirty)} to be written"


def _cost(records: Sequence[Record]) -> str:
    share = _middle(records, lambda r: _cost_share(r["evidence"], r))
    return f"{share:.3%} of processor time"


def _cost_share(evidence: Mapping[str, Any], record: Record) -> float:
    spent = sum(evidence["cost_ms"].values()) / 1000
    return float(spent / _seconds(record) / record["machine"]["cores"])


def _seconds(record: Record) -> float:
    return float(record["run"]["seconds"])


def _sum(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in counts.most_common(_MOST))


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
