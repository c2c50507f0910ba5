"""A pretended PostgreSQL that builds in a moment, and what it is built with, for offline tests."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from base.build import Build, Origin, Variant
from base.errors import SourceError
from base.paths import Paths
from base.version import Version
from builders.builder import Builder
from builders.recipe import Recipe, recipe
from builders.recipe_table import BuildSystem
from builders.sandbox import Host
from builders.source import Source
from builders.store import Store

TOOLCHAIN = {
    "cc": "gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
    "ld": "GNU ld (GNU Binutils for Debian) 2.40",
    "bison": "bison (GNU Bison) 3.8.2",
    "flex": "flex 2.6.4",
    "libc": "glibc 2.36",
    "machine": "x86_64",
}
PATIENCE_SECONDS = 30.0

CONFIGURE = """#!/bin/sh
echo "$@" > configured
{ echo "CC = $CC"; echo "CFLAGS = $CFLAGS"; echo "PREFIX = /opt/pgsql"; } > config.mk
"""
# $(CC) is "ccache gcc": ours, see PROGRAMS.
BACKEND = """
include {top}config.mk
all: postgres
generated-headers:
	@:
postgres: main.c
	$(CC) $(CFLAGS) main.c -o $@
install: postgres
	mkdir -p $(DESTDIR)$(PREFIX)/bin && cp postgres $(DESTDIR)$(PREFIX)/bin
"""
PROGRAM = """
include {top}config.mk
all:
	@:
install:
	mkdir -p $(DESTDIR)$(PREFIX)/bin
	echo {name} > $(DESTDIR)$(PREFIX)/bin/{name}
"""
PROGRAMS = {
    "ccache": 'exec "$@"',
    # does what the source file says, then "compiles" by copying
    "gcc": """
[ "$1" = --version ] && { echo 'gcc (Pretended) 12.2.0'; exit; }
. ./main.c || exit 1
cp main.c postgres
env | sort > "$HOME/gcc-env"
""",
    "ld": "echo 'GNU ld (Pretended) 2.40'",
    "bison": "echo 'bison (Pretended) 3.8.2'",
    "flex": "echo 'flex 2.6.4'",
}
FEW = ("configure", "make src/backend all", "install src/backend", "install src/bin/initdb")


def programs(directory: Path) -> Path:
    """*directory*, filled with a pretended toolchain."""
    directory.mkdir(parents=True)
    for name, text in PROGRAMS.items():
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
    return directory


@dataclass(frozen=True, kw_only=True)
class PretendedSources:
    """Sources of one release whose only C file is *main*: shell that our gcc executes."""

    version: str = "13.16"
    main: str = "true"
    is_here: bool = True

    def look_up(self, ref: str) -> tuple[Version, Source | None]:
        """The version that *ref* names, and its Source if that is here."""
        source = self.resolve(ref)
        return source.version, source if self.is_here else None

    def resolve(self, ref: str) -> Source:
        """The Source; SourceError for any other *ref*."""
        version = Version.parse(self.version)
        if ref not in (self.version, version.major_text):
            raise SourceError(f"{ref} is not pretended")
        origin = Origin(release=self.version, commit=None, tree="a" * 40, date="2024-08-08")
        return Source(version=version, origin=origin)

    def is_of_strangers(self, source: Source) -> bool:
        """Whether it is somebody's patch: releases are none."""
        return False

    def size(self, source: Source) -> int:
        """How many C files it has."""
        return 1

    def export(self, source: Source, directory: Path) -> None:
        """Write the tree of *source* to *directory*."""
        plan = recipe(source.version, Variant(), BuildSystem.CONFIGURE)
        visited = {step.argv[step.argv.index("-C") + 1] for step in plan.steps[1:]}
        for path in sorted(visited):
            place = directory / path
            place.mkdir(parents=True)
            text = BACKEND if path == "src/backend" else PROGRAM
            top = "../" * len(Path(path).parts)
            (place / "Makefile").write_text(text.format(top=top, name=place.name))
        (directory / "src/backend/main.c").write_text(f"{self.main}\n")
        (directory / "configure").write_text(CONFIGURE)
        (directory / "configure").chmod(0o755)


class QuickBuilder(Builder):
    """A Builder that follows only the steps that matter to a pretended server."""

    def recipe(self, source: Source, variant: Variant, system: BuildSystem | None = None) -> Recipe:
        whole = super().recipe(source, variant, system)
        wanted = (*FEW, "install src/bin/pg_config")
        return replace(whole, steps=tuple(s for s in whole.steps if s.name in wanted))


def builder(
    cache: Path, *, main: str = "true", kind: type[Builder] = QuickBuilder, limit: int = 10**9
) -> Builder:
    """A Builder in *cache* of a server that compiles as *main* says."""
    paths = Paths(cache=cache, project=cache)
    return kind(
        paths=paths,
        sources=PretendedSources(main=main),  # type: ignore[arg-type]
        sandbox=Host(ccache=paths.ccache, jobs=2),
        store=Store(root=paths.store, limit=limit),
    )


def build(maker: Builder, variant: Variant | None = None) -> Build:
    """What *maker* builds of its one release."""
    source = maker.sources.resolve("13")
    return maker.build(source, variant or Variant(), progress=lambda _: None)


def a_build(name: str) -> Build:
    """The facts of a Build called *name*, which is nowhere yet."""
    return Build(
        prefix=Path("/nowhere"),
        identifier=name,
        version=Version.parse("13.16"),
        origin=Origin(release="13.16", commit=None, tree="a" * 40, date="2024-08-08"),
        variant=Variant(),
        build_system="configure",
        quirks=(),
        toolchain=TOOLCHAIN,
        digest="d" * 64,
        cpu_seconds=1.0,
    )


def stored(store: Store, name: str, *, used: float, megabytes: int = 1) -> Build:
    """A Build called *name* put into *store*, last used at *used* (seconds since the epoch)."""
    installed = store.root.parent / f"{name}.stage"
    (installed / "bin").mkdir(parents=True)
    with (installed / "bin" / "postgres").open("wb") as stream:
        stream.truncate(megabytes * 10**6)
    made = store.put(installed, a_build(name))
    os.utime(made.prefix / "BUILD.json", (used, used))
    return made


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """The process id of a copy of us that does *work* and ends: 0, or 1 after any exception.

    Killed, if it still runs, when the block ends.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            work()
            code = 0
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def ended(pid: int) -> int:
    """The exit code of the child *pid*, once it has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def eventually(condition: Callable[[], object], what: str) -> None:
    """Wait until *condition* holds; fail, saying *what* was waited for, when it never does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether process *pid* runs: it is there, and not only not waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


@contextmanager
def small_disk(directory: Path, *, kilobytes: int, read_only: bool = False) -> Iterator[None]:
    """*directory* on a file system of its own; skips where we may not mount."""
    directory.mkdir(exist_ok=True)
    options = f"size={kilobytes}k,mode=0755"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        if read_only:
            remount_read_only(directory)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def remount_read_only(directory: Path) -> None:
    """Make the small disk at *directory* one that cannot be written."""
    subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)


def fill(disk: Path) -> None:
    """Leave no room on the small *disk*."""
    with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))


def is_empty(directory: Path) -> bool:
    """Whether nothing is in *directory*, or it is not there."""
    return not directory.exists() or not any(directory.iterdir())
