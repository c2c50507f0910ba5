"""Kill landspeed at random moments while its disk fills up, and see what is lost.

``python -m tests.kits.chaos`` (``make chaos``) starts two commands at once, kills them with SIGKILL
at random moments, and in every third round fills the disk meanwhile. Then the same commands run
undisturbed: both must finish, no record may be lost or be there twice, no build may be half. It
works on a scratch copy of the newest build, on a tmpfs if root starts it; elsewhere no disk is
filled. ``--made-up`` does without servers: only ``publish``, ``push``, ``pack`` and ``fetch``, of
made-up records.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from base.build import BUILD_JSON, Build, Variant
from base.files import digest_tree, remove_tree
from benchmarks.records.record import Record
from benchmarks.records.segments import read_scalars
from benchmarks.records.store import RecordStore
from builders.store import builds_below
from landspeed.session.session import Session
from perf.figure import Figure
from perf.publish_one import repository
from tests.conftest import make_project
from tests.kits.farm.forked import forked
from tests.kits.made_up.synthetic import START, Point, record

COMMITS = 8
SLOWER_FROM = 5
_FILE = "src/backend/utils/adt/int.c"
_OLD = b"int4pl(PG_FUNCTION_ARGS)\n{\n"
_NEW = _OLD + b"\tfor (volatile int i = 0; i < 30; i++);\n"
_PRESET = "quick"
_CELL = ("--preset", _PRESET, "--tier", "small")
_TIMED = (*_CELL, "--mode", "read-only", "--protocol", "prepared", "--clients", "1")
_PATIENCE = 600.0
_KEY = ("digest", "mode", "protocol", "scale", "clients", "buffers", "preset")


@dataclass(kw_only=True)
class World:
    """A project, a cache and a results branch below ``root``; ``commits`` are its upstream's."""

    root: Path
    commits: Sequence[str]
    chance: random.Random
    records: int = 0
    seen: set[str] = field(default_factory=set)
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    digests: dict[str, set[str]] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        """The project's directory."""
        return self.root / "project"

    @property
    def store(self) -> RecordStore:
        """The records."""
        return RecordStore(self.project / "results" / "records")

    @property
    def builds(self) -> list[Build]:
        """All builds of the cache."""
        return builds_below(self.root / "cache" / "builds")

    def environment(self) -> dict[str, str]:
        """The environment of each command."""
        own = {"LANDSPEED_PROJECT": self.project, "HOME": self.project}
        own |= {"LANDSPEED_CACHE": self.root / "cache", "LANDSPEED_DATA": self.root / "data"}
        own |= {"LANDSPEED_RESULTS_REMOTE": self.root / "results.git"}
        own |= {"LANDSPEED_MEASURE_LOCK": self.root / "measure.lock"}
        own |= {"LANDSPEED_UPSTREAM": self.root / "upstream.git", "TMPDIR": self.root / "tmp"}
        return os.environ | {name: str(path) for name, path in own.items()}

    def add(self) -> None:
        """Record some made-up runs, which nothing disturbs."""
        commit = self.chance.randrange(COMMITS)
        point = Point(release=None, commit=self.commits[commit], date=f"2026-01-0{commit + 1}")
        for _ in range(5):
            self.records += 1
            at = START + timedelta(seconds=self.records)
            self.store.add(Record.from_json(record(point, number=self.records, at=at)))

    def losses(self) -> Iterator[str]:
        """Yield what was lost, is there twice or is half, in plain words."""
        now = self.store.table([*_KEY, "id"])
        missing = self.seen - set(now["id"].to_pylist())
        self.seen |= set(now["id"].to_pylist())
        if missing:
            yield f"lost {len(missing)} records, such as {min(missing)}"
        segments = sorted(self.store.root.glob("segments/*/*/[!.]*.parquet"))
        ids = read_scalars(segments, ["id"])["id"].to_pylist()
        if len(set(ids)) < len(ids):
            yield f"{len(ids) - len(set(ids))} records are in two segments"
        yield from self._repeated(now.to_pylist())
        for build in self.builds:
            with tempfile.TemporaryDirectory(dir=self.root) as copy:
                proof = shutil.ignore_patterns(BUILD_JSON)
                shutil.copytree(
                    build.prefix, f"{copy}/it", symlinks=True, ignore=proof, copy_function=os.link
                )
                if digest_tree(Path(copy, "it")) != build.digest:
                    yield f"{build.prefix} is not whole"
        site = self.project / "site"
        if site.exists() and not (site / "index.json").is_file():
            yield "half a site was published"
        check = ["git", "-C", str(self.root / "results.git"), "fsck", "--strict"]
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"the results branch is damaged: {done.stderr[:200]}"

    def _repeated(self, rows: list[dict[str, object]]) -> Iterator[str]:
        """Yield the points of which more runs were recorded than a command has asked for."""
        for build in self.builds:
            self.digests.setdefault(build.digest, set()).add(str(build.origin.commit))
        runs = Counter(tuple(row[name] for name in _KEY) for row in rows)
        for (digest, mode, protocol, scale, clients, buffers, preset), count in runs.items():
            commits = self.digests.get(str(digest), set())
            asked = max((self.asked[commit, int(str(scale))] for commit in commits), default=0)
            most = 1 if buffers else asked
            if commits and preset == _PRESET and count > most:
                cell = f"{mode} {protocol} {scale} {clients} {buffers}"
                yield f"{count} runs instead of {most} of {min(commits)} {cell}"


# --- the verbs: each makes sure that there is something to do, and returns the arguments --------


def _build(world: World) -> list[str]:
    commit = world.chance.choice(world.commits)
    for build in world.builds:
        if build.origin.commit == commit:
            shutil.rmtree(build.prefix)
    return ["build", commit]


def _time(world: World) -> list[str]:
    commit, scale = world.chance.choice(world.commits[-3:]), world.chance.randrange(1, 4)
    world.asked[commit, scale] += 1
    what = ("--scale", f"small={scale}", "--seconds", "1")
    return ["run", commit, *_TIMED, *what, "--samples", str(world.asked[commit, scale])]


def _count(world: World) -> list[str]:
    commit = world.chance.choice(world.commits)
    what = ("--metric", "instructions", "--scale", "small=1")
    protocol = world.chance.choice(("simple", "extended", "prepared"))
    return ["run", commit, *_CELL, *what, "--mode", "read-only", "--protocol", protocol]


def _bisect(world: World) -> list[str]:
    what = ("--metric", "instructions", "--mode", "read-only", "--scale", "small=1")
    good = world.chance.randrange(SLOWER_FROM)
    bad = world.chance.randrange(SLOWER_FROM, COMMITS)
    return ["bisect", world.commits[good], world.commits[bad], *what, "--budget", "5min"]


def _pack_build(world: World) -> list[str]:
    return ["build", world.commits[-1], "--archive", str(world.root / "tmp" / "build.tar")]


def _pack(world: World) -> list[str]:
    world.add()
    return ["farm", "results", "pack", str(world.root / "tmp" / "results.tar")]


def _push(world: World) -> list[str]:
    world.add()
    return ["farm", "results", "push"]


def _fetch(world: World) -> list[str]:
    del world
    return ["farm", "results", "fetch"]


def _publish(world: World) -> list[str]:
    world.add()
    return ["publish"]


Verb = Callable[[World], list[str]]
_MADE_UP: dict[Verb, int] = {_push: 4, _pack: 3, _publish: 4, _fetch: 2}
_REAL: dict[Verb, int] = _MADE_UP | {_build: 4, _time: 4, _count: 2, _bisect: 1, _pack_build: 2}


@dataclass(kw_only=True)
class Chaos:
    """Rounds in ``world``, by ``command`` with the arguments of a verb; what happened in them."""

    world: World
    command: Sequence[str]
    verbs: dict[Verb, int]
    fills: bool
    logs: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    usual: dict[str, float] = field(default_factory=dict)

    def round(self, number: int) -> list[str]:
        """Disturb two commands, run them again undisturbed, look for losses; return their verbs."""
        world, chance = self.world, self.world.chance
        verbs = chance.choices([*self.verbs], weights=[*self.verbs.values()], k=2)
        asked = [(verb.__name__.strip("_"), verb(world)) for verb in verbs]
        self._disturb(asked, fill=self.fills and number % 3 == 0)
        # What has been recorded until now must stay.
        world.seen |= set(world.store.table(["id"])["id"].to_pylist())
        for name, argv in asked:
            began = time.monotonic()
            process, log = self._started(argv)
            if (code := _ended(process)) != 0:
                said = log.read_text(errors="replace")[-2000:]
                self.failures.append(f"round {number}: {' '.join(argv)}: {code}\n{said}")
            self.usual[name] = time.monotonic() - began
        self.failures += [f"round {number}: {loss}" for loss in world.losses()]
        return [name for name, _ in asked]

    def _disturb(self, asked: Sequence[tuple[str, list[str]]], *, fill: bool) -> None:
        chance, begun = self.world.chance, time.monotonic()
        running = []
        for name, argv in asked:
            process, log = self._started(argv)
            # One in four is not killed where the disk is full: it must end by itself.
            kill = begun + chance.uniform(0, 1.1 * self.usual.get(name, 10.0))
            spared = fill and chance.random() < 1 / 4
            running.append((name, process, log, begun + _PATIENCE if spared else kill))
        full = begun + chance.uniform(0, max(self.usual.get(name, 10.0) for name, _ in asked))
        filler = self.world.root / "filler"
        while any(process.poll() is None for _, process, _, _ in running):
            now = time.monotonic()
            if fill and now >= full and not filler.exists():
                _fill(filler, leave=chance.choice((0, 1 << 14, 1 << 20, 1 << 23)))
            for name, process, _, kill in running:
                if now >= kill and process.poll() is None:
                    process.kill()
                    process.wait()
                    self.faults[f"killed in {name}"] += 1
            time.sleep(0.01)
        for name, process, log, _ in running:
            if process.returncode > 0:
                self.faults[f"disk full in {name}" if filler.exists() else f"busy in {name}"] += 1
                if "Traceback" in (said := log.read_text(errors="replace")):
                    self.failures.append(f"{name} on a full disk:\n{said[-2000:]}")
        filler.unlink(missing_ok=True)

    def _started(self, argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path]:
        name = self.logs / f"{len(self.processes)}.log"
        with name.open("wb") as log:
            process = subprocess.Popen(
                [*self.command, *argv],
                cwd=self.world.project,
                env=self.world.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process, name


def _ended(process: subprocess.Popen[bytes]) -> int | str:
    """Wait for *process*; return its exit code, or why there is none."""
    try:
        return process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return f"not finished after {_PATIENCE:.0f} s"


def _fill(filler: Path, *, leave: int) -> None:
    """Make *filler* so large that its file system has *leave* bytes left."""
    free = os.statvfs(filler.parent)
    with filler.open("wb") as stream, suppress(OSError):  # another may have taken the rest
        os.posix_fallocate(stream.fileno(), 0, max(1, free.f_bavail * free.f_frsize - leave))


# --- the world ------------------------------------------------------------------------------


def _git(repository: Path, *arguments: str, text: bytes = b"") -> bytes:
    argv = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(argv, input=text, capture_output=True, check=True).stdout


def _made_up_world(root: Path) -> list[str]:
    """Make a cache that knows commits of nothing; return their hashes, oldest first."""
    repository(root / "upstream.git", COMMITS)
    return repository(root / "cache" / "sources.git", COMMITS)


def _real_world(root: Path) -> list[str]:
    """Make a cache with the newest build, and an upstream of commits that follow it."""
    session = Session()
    release = session.builder.newest_stable()
    build = session.build(release, Variant())
    real, cache, upstream = session.paths.cache, root / "cache", root / "upstream.git"
    shutil.copytree(build.prefix, cache / "builds" / build.identifier, symlinks=True)
    kept = f"refs/landspeed/trees/{release.version}"
    for path in (upstream, cache / "sources.git"):
        subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
        _git(path, "fetch", "--quiet", str(session.paths.sources), f"{kept}:{kept}")
    if (real / "ccache").is_dir():
        shutil.copytree(real / "ccache", cache / "ccache", symlinks=True)
    text = _git(upstream, "show", f"{release.origin.tree}:{_FILE}")
    entries = _git(upstream, "ls-tree", "-r", "-z", release.origin.tree).split(b"\0")
    stream = []
    for number in range(COMMITS):
        body = (text if number < SLOWER_FROM else text.replace(_OLD, _NEW)) + b"/* %d */\n" % number
        head = (
            f"commit refs/heads/master\ncommitter a <a@example.org> {1_790_000_000 + number} +0000"
        )
        stream.append(f"{head}\ndata 8\ncommit {number}\n".encode())
        if number == 0:
            for entry in filter(None, entries):
                facts, path = entry.split(b"\t", 1)
                mode, _, name = facts.split(b" ")
                stream.append(b"M %s %s %s\n" % (mode, name, path))
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (_FILE.encode(), len(body), body))
    _git(upstream, "fast-import", "--quiet", text=b"".join(stream))
    return _git(upstream, "rev-list", "--reverse", "master").decode().split()


@contextmanager
def _place(megabytes: int) -> Iterator[tuple[Path, bool]]:
    """Yield a new directory, and whether it is a file system of its own."""
    root = Path(tempfile.mkdtemp(prefix="landspeed-chaos-", dir="/var/tmp"))
    root.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(root)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield root, mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(root)], check=False)
        remove_tree(root)


def main() -> int:
    """Print the figures; 1 if anything was lost or did not finish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--made-up", action="store_true", help="without servers")
    arguments = parser.parse_args()
    with _place(300 if arguments.made_up else 4000) as (root, mounted):
        (root / "tmp").mkdir(mode=0o1777)
        toml = make_project(root / "project") / "landspeed.toml"
        toml.write_text(toml.read_text().replace(', "tarball", "debian"', ""))
        commits = _made_up_world(root) if arguments.made_up else _real_world(root)
        subprocess.run(["git", "init", "-q", "--bare", str(root / "results.git")], check=True)
        chance = random.Random(arguments.seed)
        world = World(root=root, commits=commits, chance=chance)
        verbs = _MADE_UP if arguments.made_up else _REAL
        with (
            forked("landspeed.cli.main") as command,
            tempfile.TemporaryDirectory(prefix="landspeed-chaos-logs-") as logs,
        ):
            chaos = Chaos(world=world, command=command, verbs=verbs, fills=mounted, logs=Path(logs))
            began, done = time.monotonic(), 0
            try:
                for number in range(1, arguments.rounds + 1):
                    told = len(chaos.failures)
                    verbs = ", ".join(chaos.round(number))
                    done, news = number, [f"round {number}: {verbs}", *chaos.failures[told:]]
                    print(*news, sep="\n", file=sys.stderr)
            except KeyboardInterrupt:
                print("interrupted: these are the figures until now", file=sys.stderr)
            finally:
                for process in chaos.processes:
                    process.kill()
    Figure(
        figure=f"losses in {done} rounds of chaos",
        value=len(chaos.failures),
        unit="losses",
        goal="0",
        beside=f"{json.dumps(chaos.faults)} in {time.monotonic() - began:.0f} s, "
        f"{len(world.seen)} records",
    ).show()
    return int(bool(chaos.failures))


if __name__ == "__main__":
    sys.exit(main())
