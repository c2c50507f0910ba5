"""Where the time went: what server and machine were doing in the runs of one point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from benchmarks.observation.activity import CLIENTS, WORKERS
from benchmarks.observation.warnings import (
    checkpoints,
    client_share,
    client_share_text,
    pages_written,
)
from benchmarks.records.record import EvidenceFacts, Record
from benchmarks.workloads.sysbench_modes import SYSBENCH
from landspeed.console.format import counted

_MOST = 6
_STATEMENT_WIDTH = 40

_Run = tuple[Record, EvidenceFacts]
_Runs = Sequence[_Run]


def evidence_rows(records: Iterable[Record]) -> list[tuple[str, str]]:
    """Return a title and a text for each thing that was seen: medians of the runs that have it.

    Counted runs and those of an older landspeed have no evidence.
    """
    runs = [(record, record.evidence) for record in records if record.evidence]
    if not runs:
        return []
    rows = (
        ("processors", _processors(runs)),
        ("client", _client(runs)),
        ("backends", _backends(runs, CLIENTS)),
        ("workers' backends", _backends(runs, WORKERS + CLIENTS)),
        ("servers", _servers(runs)),
        ("other processes", _others(runs)),
        ("locks waited for", _counted(_sum(seen.locks for _, seen in runs))),
        ("statements", _statements(runs)),
        ("buffers", _buffers(runs)),
        ("WAL, checkpoints", _wal(runs)),
        ("disk", _disk(runs)),
        ("server's own I/O", _server_io(runs)),
        ("memory", _memory(runs)),
        ("cost of monitoring", _cost(runs)),
    )
    return [(title, text) for title, text in rows if text]


def client_text(record: Record) -> str:
    """Say which client made the run: its version, and its build or the rows of its table."""
    if record.sysbench:
        return f"{SYSBENCH} {record.sysbench.version} ({record.sysbench.rows:,} rows)"
    return f"pgbench {record.pgbench.version} ({record.pgbench.build})"


def _median(runs: _Runs, value: Callable[[Record, EvidenceFacts], float | None]) -> float | None:
    values = [one for run in runs if (one := value(*run)) is not None]
    return median(values) if values else None


def _rate(runs: _Runs, value: Callable[[Record, EvidenceFacts], float | None]) -> float:
    """Return the median of *value* per second of the run."""
    return _median(runs, lambda r, e: (value(r, e) or 0) / _seconds(r)) or 0.0


def _processors(runs: _Runs) -> str:
    kinds = ("user", "system", "iowait", "steal", "idle")
    shares = {kind: median(seen.cpu.get(kind, 0.0) for _, seen in runs) for kind in kinds}
    text = ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items())
    return f"{text}; {_rate(runs, lambda _, e: e.context_switches):,.0f} context switches/s"


def _client(runs: _Runs) -> str:
    share = _median(runs, lambda record, _: client_share(record))
    return "" if share is None else client_share_text(runs[0][0], share)


def _servers(runs: _Runs) -> str:
    """Return each server's share of the CPU time, where there are a coordinator and workers."""
    spent: dict[str, float] = {}
    for record, _ in runs:
        for one in record.topology.servers if record.topology else ():
            spent[one.name] = spent.get(one.name, 0.0) + one.cpu_seconds
    total = sum(spent.values())
    if not total:
        return ""
    text = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in spent.items())
    return f"{text} of their processor time"


def _backends(runs: _Runs, kind: str) -> str:
    waits = _sum(seen.waits.get(kind, {}) for _, seen in runs)
    looks = sum(seen.looks for _, seen in runs)
    total = sum(waits.values())
    if not total:
        return ""
    text = ", ".join(f"{what} {count / total:.0%}" for what, count in waits.most_common(_MOST))
    return f"{text} ({looks} samples, {total} backends in them)"


def _others(runs: _Runs) -> str:
    kinds: Counter[str] = Counter()
    for _, seen in runs:
        for kind, waits in seen.waits.items():
            if kind not in (CLIENTS, WORKERS + CLIENTS):
                kinds.update({f"{kind} {what}": count for what, count in waits.items()})
    return _counted(kinds)


def _statements(runs: _Runs) -> str:
    times: dict[str, list[float]] = {}
    for _, seen in runs:
        for text, milliseconds in seen.statements:
            times.setdefault(text, []).append(milliseconds)
    return ", ".join(
        f"{_shortened(text)} {median(values):.3f} ms" for text, values in times.items()
    )


def _shortened(text: str) -> str:
    text = text.removesuffix(";")
    return text if len(text) <= _STATEMENT_WIDTH else f"{text[: _STATEMENT_WIDTH - 1]}…"


def _buffers(runs: _Runs) -> str:
    share = _median(runs, _missed)
    written = _median(runs, lambda record, _: pages_written(record))
    if share is None:
        return ""
    return (
        f"{share:.2%} of pages were read in, the others were there; "
        f"{written:,.0f} pages written per run"
    )


def _missed(record: Record, _: EvidenceFacts) -> float | None:
    hit, read = record.sample.blocks_hit, record.sample.blocks_read
    return None if hit is None or read is None or hit + read == 0 else read / (hit + read)


def _wal(runs: _Runs) -> str:
    bytes_ = _median(runs, lambda r, _: (r.sample.wal_bytes or 0) / (r.sample.transactions or 1))
    counts = [count for record, _ in runs if (count := checkpoints(record)) is not None]
    text = f"{bytes_:,.0f} bytes of WAL per transaction"
    if not counts:
        return text
    some = sum(count > 0 for count in counts)
    return f"{text}; checkpoints began in {some} of {counted(len(counts), 'run')}"


def _disk(runs: _Runs) -> str:
    first = runs[0][1].disk
    if first and first.why:
        return first.why
    disks = [(e.disk, _seconds(r)) for r, e in runs if e.disk and e.disk.device]
    if not disks:
        return ""
    reads = [(one.reads, one.read_bytes, one.read_ms, seconds) for one, seconds in disks]
    writes = [(one.writes, one.write_bytes, one.write_ms, seconds) for one, seconds in disks]
    busy = median(one.busy or 0.0 for one, _ in disks)
    name = disks[0][0].device
    return f"{name}: {_io_text('reads', reads)}, {_io_text('writes', writes)}, busy {busy:.0%}"


def _io_text(what: str, runs: Sequence[tuple[int | None, int | None, float | None, float]]) -> str:
    """Describe operations, bytes, milliseconds per operation, and seconds of each run."""
    rate = median((count or 0) / seconds for count, _, _, seconds in runs)
    size = median((bytes_ or 0) / seconds for _, bytes_, _, seconds in runs)
    took = [one for _, _, one, _ in runs if one is not None]
    each = f", {median(took):.2f} ms each" if took else ""
    return f"{rate:,.0f} {what}/s ({_size(size)}/s{each})"


def _server_io(runs: _Runs) -> str:
    read = _median(runs, lambda _, e: e.server_io.read_bytes if e.server_io else None)
    written = _median(runs, lambda _, e: e.server_io.write_bytes if e.server_io else None)
    if read is None or written is None:
        return ""
    return f"read {_size(read)} from storage and wrote {_size(written)} per run"


def _memory(runs: _Runs) -> str:
    available = _median(runs, lambda _, e: e.memory.get("available"))
    dirty = _median(runs, lambda _, e: e.memory.get("dirty"))
    if available is None or dirty is None:
        return ""
    return f"at least {_size(available)} available, at most {_size(dirty)} to be written"


def _cost(runs: _Runs) -> str:
    share = _rate(runs, lambda r, e: sum(e.cost_ms.values()) / 1000 / (r.machine.cores or 1))
    return f"{share:.3%} of processor time"


def _seconds(record: Record) -> float:
    return record.run.seconds or 1.0


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
