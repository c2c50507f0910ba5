"""The Sandbox: where a Recipe's steps run, its CPU seconds counted and its log kept."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from base.errors import BuildError
from builders.recipe import Recipe, Step

_HINTS = (
    (
        "No space left on device",
        "Free some space, or put the cache elsewhere with LANDSPEED_CACHE.",
    ),
    ("command not found", 'Install what is missing with "make setup".'),
    ("No such file or directory: 'ccache'", 'Install ccache with "make setup".'),
)
_NINJA_COUNT = re.compile(rb"\[(\d+)/(\d+)\]")
_POLL_SECONDS = (0.005, 0.25)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress is what a build is doing: its step and the share done, 0 … 1."""

    step: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Host:
    """A Host is the Sandbox of this very machine.

    ``ccache`` is the compiler cache's directory; ``jobs`` how many processes compile at once.
    """

    ccache: Path
    jobs: int
    ccache_limit: str = "10G"

    def toolchain(self) -> dict[str, str]:
        """What compiles here: part of a Build's identity."""
        return dict(_toolchain())

    def run(
        self,
        recipe: Recipe,
        *,
        source: Path,
        stage: Path,
        log: Path,
        progress: Callable[[Progress], None],
    ) -> float:
        """Run every step of *recipe* in *source*, installing below *stage*; CPU seconds spent.

        BuildError at the first step that fails.
        """
        tokens = {"stage": str(stage), "jobs": str(self.jobs), "python": sys.executable}
        gauge = _Gauge(source=source, log=log, expected=_count_sources(source, recipe))
        spent = 0.0
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"# landspeed: PostgreSQL {recipe.version} {recipe.variant} in {source}\n")
        for step in recipe.steps:
            _tick(progress, step, gauge)
            code, seconds = self._run_step(
                step,
                tokens=tokens,
                source=source,
                log=log,
                tick=partial(_tick, progress, step, gauge),
            )
            spent += seconds
            if code != 0:
                raise _failure(recipe, step, code=code, source=source, log=log)
        return spent

    def _run_step(
        self,
        step: Step,
        *,
        tokens: dict[str, str],
        source: Path,
        log: Path,
        tick: Callable[[], None],
    ) -> tuple[int, float]:
        argv = [_fill(argument, tokens) for argument in step.argv]
        with log.open("ab") as stream:
            stream.write(f"$ {' '.join(argv)}\n".encode())
            stream.flush()
            try:
                process = subprocess.Popen(
                    argv,
                    cwd=source,
                    env=self._environment(source) | dict(step.environment),
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                stream.write(f"{error}\n".encode())
                return 127, 0.0
            with _killed_on_error(process):
                return _wait(process, tick)

    def _environment(self, source: Path) -> dict[str, str]:
        # From scratch: nothing of the caller's CFLAGS, MAKEFLAGS or PG* may leak in.
        # The interpreter's own bin holds ninja.
        path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        return {
            "PATH": path,
            "HOME": str(source),
            "LC_ALL": "C",
            "TZ": "UTC",
            "CCACHE_DIR": str(self.ccache),
            "CCACHE_MAXSIZE": self.ccache_limit,
            "CCACHE_BASEDIR": str(source),
            "CCACHE_NOHASHDIR": "1",
        }


@contextmanager
def _killed_on_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def _wait(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> tuple[int, float]:
    # wait4 and not Popen.wait: its usage covers the process and all it waited for.
    pause = _POLL_SECONDS[0]
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        time.sleep(pause)
        pause = min(pause * 2, _POLL_SECONDS[1])
        tick()


def _tick(progress: Callable[[Progress], None], step: Step, gauge: _Gauge) -> None:
    progress(Progress(step=step.name, share=gauge.share()))


def _fill(argument: str, tokens: dict[str, str]) -> str:
    for name, value in tokens.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument


@dataclass(frozen=True, kw_only=True)
class _Gauge:
    """How far a build is: ninja counts for us, under make object files are counted."""

    source: Path
    log: Path
    expected: int

    def share(self) -> float:
        with self.log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 4096))
            counts = _NINJA_COUNT.findall(stream.read())
        if counts:
            done, total = map(int, counts[-1])
        else:
            done, total = _count(self.source / "src", ".o"), self.expected
        return min(1.0, done / max(1, total))


def _count(directory: Path, suffix: str) -> int:
    return sum(name.endswith(suffix) for _, _, names in os.walk(directory) for name in names)


def _count_sources(source: Path, recipe: Recipe) -> int:
    places = [a for s in recipe.steps for a in s.argv if a.startswith("src/")]
    roots = [p for p in set(places) if not any(p.startswith(f"{o}/") for o in set(places))]
    return sum(_count(source / root, ".c") for root in roots)


def _failure(recipe: Recipe, step: Step, *, code: int, source: Path, log: Path) -> BuildError:
    lines = log.read_text(errors="replace").splitlines()
    tail = "\n".join(lines[-10:])
    hint = next((h for pattern, h in _HINTS if pattern in tail), "")
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return BuildError(
        f"could not build PostgreSQL {recipe.version} {recipe.variant}",
        detail=f'Step "{step.name}" {how}.\ntree: {source}\nlog:  {log}\n{tail}',
        hint=hint or f"Read the log's first error; the recipe: landspeed plan {recipe.version}.",
    )


@cache
def _toolchain() -> tuple[tuple[str, str], ...]:
    def first_line(*argv: str) -> str:
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise BuildError(
                f'could not run "{argv[0]}"',
                detail=str(error),
                hint='Install what building needs with "make setup".',
            ) from error
        return done.stdout.splitlines()[0].strip()

    return (
        ("cc", first_line("gcc", "--version")),
        ("ld", first_line("ld", "--version")),
        ("bison", first_line("bison", "--version")),
        ("flex", first_line("flex", "--version")),
        ("libc", " ".join(platform.libc_ver())),
        ("machine", platform.machine()),
    )
