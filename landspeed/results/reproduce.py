"""Commands that reproduce a result on another machine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from base.build import Origin
from benchmarks.server.configuration import Configuration
from benchmarks.workloads.catalog import CATALOG, workloads
from benchmarks.workloads.scenario import Mode
from landspeed.results.run import Run

_LANDSPEED = ".venv/bin/landspeed"


def point_commands(runs: Sequence[Run]) -> list[str]:
    """Return the commands, for a checkout of landspeed, that measure the point of *runs*."""
    run = runs[0]
    # The name of an external server stands for one build, so it takes no variant.
    target = run.origin.name if run.origin.registered else run.target
    if run.preset == CATALOG:
        words = ["run", target, "--workload", run.mode, "--metric", "instructions"]
        return [*setup_commands(run.origin for run in runs), command(*words)]
    name, _, digest = run.mode.rpartition("-")
    is_own = run.mode not in {*Mode, *(one.name for one in workloads())}
    if is_own and "-" in run.preset:
        # A study's preset is NAME-SIZE, and the mode in the record has a digest appended.
        study, _, size = run.preset.rpartition("-")
        words = ["study", study, target, "--preset", size]
        words += ["--mode", name, "--protocol", run.protocol]
        profile = Configuration.named(run.profile)
        words += ["--configuration", profile.server]
        words += ["--storage", profile.storage] if profile.storage else []
    else:
        words = ["run", target, "--preset", "quick"]
        words += ["--script", f"{name}.sql"] if is_own else ["--mode", run.mode]
        words += ["--protocol", run.protocol, "--configuration", run.profile]
    words += ["--tier", run.tier, "--scale", f"{run.tier}={run.scale}"]
    if run.buffers is not None:
        words += ["--metric", "instructions"]
    else:
        words += ["--clients", str(run.clients), "--samples", str(len(runs))]
        words += ["--seconds", f"{run.seconds:.0f}"]
    commands = setup_commands(run.origin for run in runs)
    if is_own and "--script" in words:
        commands.append(f"# with {name}.sql, and --load if it has one, as they were: {digest}")
    return [*commands, command(*words)]


def setup_commands(origins: Iterable[Origin]) -> list[str]:
    """Return the commands that set landspeed up to measure *origins*."""
    origins = list(origins)
    commands = [f"# in a checkout of landspeed {version('landspeed')}", "make setup"]
    if any(one.commit and not one.release for one in origins):
        commands.append("# with the git upstream that has the commits, in landspeed.toml")
    for name in dict.fromkeys(one.registered for one in origins if one.registered):
        commands.append(command("build", "--from", "PG_CONFIG", "--name", name))
    return [*commands, command("doctor")]


def command(*words: str) -> str:
    """Return a command line of landspeed as README spells it."""
    return f"{_LANDSPEED} {shlex.join(words)}"
