"""The commands that repeat a result on another machine: what nobody can check is no result."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from benchmarks.records.columns import variant_of
from benchmarks.server.configuration import Configuration
from benchmarks.workloads.scenario import Mode
from landspeed.results.point_query import name_of

_LANDSPEED = ".venv/bin/landspeed"


def point_commands(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to type, in a checkout of landspeed, to measure the point that *runs* are of.

    *runs* are rows of RecordStore.table().
    """
    run = runs[0]
    if run["mode"] not in list(Mode):
        # what is no mode of pgbench's belongs to a study; name and size are those of its preset,
        # and in the record its own name has a digest behind it
        study, _, size = run["preset"].rpartition("-")
        words = ["study", study, target_of(run), "--preset", size]
        words += ["--mode", run["mode"].rpartition("-")[0], "--protocol", run["protocol"]]
        profile = Configuration.named(run["profile"])
        words += ["--profile", profile.server]
        words += ["--storage", profile.storage] if profile.storage else []
    else:
        words = ["run", target_of(run), "--preset", "quick"]
        words += ["--mode", run["mode"], "--protocol", run["protocol"], "--profile", run["profile"]]
    words += ["--tier", run["tier"], "--scale", f"{run['tier']}={run['scale']}"]
    if run["buffers"] is not None:
        words += ["--metric", "instructions"]
    else:
        words += ["--clients", str(run["clients"]), "--samples", str(len(runs))]
        words += ["--seconds", f"{run['seconds']:.0f}"]
    return [*preparing(runs), command(*words)]


def preparing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What has to be there first: landspeed, the upstream of commits, registered servers."""
    commands = [f"# in a checkout of landspeed {version('landspeed')}", "make setup"]
    if any(row["commit"] and not row["release"] for row in rows):
        commands.append("# with the git upstream that has the commits, in landspeed.toml")
    for name in dict.fromkeys(row["registered"] for row in rows if row["registered"]):
        commands.append(command("register", "PG_CONFIG", "--name", str(name)))
    return [*commands, command("doctor")]


def target_of(row: Mapping[str, Any]) -> str:
    """The Target of a *row*, as it is typed."""
    name = name_of(row)
    return name if name.startswith("@") else f"{name}:{variant_of(row)}"


def command(*words: str) -> str:
    """A command line of landspeed's, as the README spells it."""
    return f"{_LANDSPEED} {shlex.join(words)}"
