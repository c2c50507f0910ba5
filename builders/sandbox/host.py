"""The Sandbox: where a Recipe's steps run, its CPU seconds counted and its log kept."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import ClassVar, Self

from base.build import Build, Compiler, Variant
from base.errors import BuildError
from base.files import canonical_json
from builders.recipe import BuildStep, Recipe
from builders.sandbox import process_session
from builders.sandbox.build_progress import BuildProgress
from builders.sandbox.failure import SETUP_HINT, failure, memory_kills
from builders.sandbox.jobserver import JobServer
from builders.sandbox.march_native import NATIVE_QUESTION, is_native, native_processor

_POLL_SECONDS = (0.005, 0.25)
_TICK_SECONDS = 5.0
_JOBS = "-j{jobs}"
# What "make setup" does not install.
_INSTEAD = {
    "clang": 'Install it with "apt-get install clang llvm lld", or leave out clang: gcc is default.'
}


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a build is doing: its step, and the share done from 0 to 1."""

    step: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Host:
    """The sandbox that is this machine.

    ``ccache`` is the directory of the compiler cache. ``jobs`` is how many processes compile at
    once, in all builds of one ``job_server`` together. It ``builds_in_place``: object files stay
    in the source tree.
    """

    ccache: Path
    jobs: int
    job_server: JobServer | None = None
    ccache_limit: str = "10G"
    builds_in_place: ClassVar[bool] = True

    def toolchain(self, variant: Variant) -> dict[str, str]:
        """What compiles *variant* here: part of a Build's identity."""
        return dict(_toolchain(_search_path(), variant.compiler, is_native=is_native(variant)))

    def sharing(self, server: JobServer, *, builds: int) -> Self:
        """This Host, for *builds* at once that share the jobs of *server*."""
        del builds
        return replace(self, job_server=server)

    def run(
        self,
        recipe: Recipe,
        *,
        source: Path,
        stage: Path,
        log: Path,
        progress: Callable[[Progress], None],
        lock: int,
    ) -> float:
        """Run every step of *recipe* in *source*, installing below *stage*; CPU seconds spent.

        BuildError at the first step that fails. However we end, by an error, Ctrl-C or
        ``kill -9``, no process of a step outlives us for more than a moment, and *lock*, the
        descriptor of a lock file, keeps it locked until the last of them is gone.
        """
        self._require_programs(recipe)
        tokens = {"stage": str(stage), "jobs": str(self.jobs), "python": sys.executable}
        gauge = BuildProgress.of(recipe, source=source, log=log)
        environment = self._environment(source, recipe.variant)
        spent, killed = 0.0, memory_kills()
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"# landspeed: PostgreSQL {recipe.version} {recipe.variant} in {source}\n")
        with _watcher(lock) as watch:
            for step in recipe.steps:
                _tick(progress, step, gauge)
                code, seconds = self._run_step(
                    step,
                    environment,
                    tokens=tokens,
                    source=source,
                    log=log,
                    tick=partial(_tick, progress, step, gauge),
                    watch=watch,
                )
                spent += seconds
                if code != 0:
                    raise failure(
                        recipe,
                        step,
                        code=code,
                        source=source,
                        log=log,
                        memory_kills=memory_kills() - killed,
                    )
        return spent

    def _run_step(
        self,
        step: BuildStep,
        environment: dict[str, str],
        *,
        tokens: dict[str, str],
        source: Path,
        log: Path,
        tick: Callable[[], None],
        watch: _Watch,
    ) -> tuple[int, float]:
        server = self.job_server if _JOBS in step.argv else None
        argv = [fill(a, tokens) for a in step.argv if server is None or a != _JOBS]
        with log.open("ab") as stream:
            stream.write(f"$ {' '.join(argv)}\n".encode())
            stream.flush()
            try:
                process = subprocess.Popen(
                    argv,
                    cwd=source,
                    env=environment
                    | (server.environment if server else {})
                    | step.extra_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=(watch.lock, *(server.descriptors if server else ())),
                )
            except OSError as error:
                stream.write(f"{error}\n".encode())
                return 127, 0.0
            with watch.over(process):
                return _wait(process, tick)

    def _environment(self, source: Path, variant: Variant) -> dict[str, str]:
        return step_environment(
            path=_search_path(),
            tree=str(source),
            ccache=str(self.ccache),
            ccache_limit=self.ccache_limit,
            toolchain=self.toolchain(variant),
        )

    def _require_programs(self, recipe: Recipe) -> None:
        # a missing ccache is to configure and meson "a compiler that does not work"
        for name in ("ccache", *dict.fromkeys(step.argv[0] for step in recipe.steps)):
            is_plain = "/" not in name and "{" not in name
            if is_plain and shutil.which(name, path=_search_path()) is None:
                raise _missing(name, f"PostgreSQL {recipe.version} is built with it.")


def printed(program: Path, *arguments: str) -> str:
    """What *program* prints; OSError if it cannot be run, or fails."""
    done = subprocess.run(
        [program, *arguments],
        env={"PATH": _search_path(), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise ChildProcessError(f"It ended with exit code {done.returncode}. {done.stderr}".strip())
    return done.stdout


def refusal_of(build: Build) -> str:
    """Why the server of *build* does not run on this machine, in the loader's words, or "".

    What a Container built may ask for a libc that is newer than ours.
    """
    argv = [str(build.program("postgres")), "--version"]
    try:
        done = subprocess.run(
            argv, env=build.environment(), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def step_environment(
    *, path: str, tree: str, ccache: str, ccache_limit: str, toolchain: dict[str, str]
) -> dict[str, str]:
    """The environment of every step in *tree*, whose compiler *toolchain* tells.

    It is made from scratch: nothing of the caller's CFLAGS, MAKEFLAGS or PG* may leak in.
    """
    return {
        "PATH": path,
        "HOME": tree,
        "LC_ALL": "C",
        "TZ": "UTC",
        "CCACHE_DIR": ccache,
        "CCACHE_MAXSIZE": ccache_limit,
        "CCACHE_BASEDIR": tree,
        "CCACHE_NOHASHDIR": "1",
        # The compiler's own list of headers tells what an object depends on: a miss then
        # costs no second run of the preprocessor (ccache's manual, "The depend mode").
        "CCACHE_DEPEND": "1",
        # The tree was unpacked a moment ago and nobody else writes to it.
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
        # -MMD leaves system headers out: another C library is another compiler.
        "CCACHE_COMPILERCHECK": f"string:{canonical_json(toolchain)}",
    }


def _search_path() -> str:
    # The interpreter's own bin holds ninja.
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"


@dataclass(frozen=True, kw_only=True)
class _Watch:
    """Ends all processes of a step if we die: see builders.sandbox.process_session."""

    watcher: subprocess.Popen[bytes]
    lock: int

    @contextmanager
    def over(self, step: subprocess.Popen[bytes]) -> Iterator[None]:
        self._tell(step.pid)
        try:
            yield
        except BaseException:
            # not told that it is over: should a second Ctrl-C cut this short, it is ended there
            process_session.end(step.pid)
            step.wait()
            raise
        self._tell(0)

    def _tell(self, number: int) -> None:
        if self.watcher.stdin is not None:
            # a watcher that was killed is no reason to fail: only kill -9 finds us without it
            with suppress(BrokenPipeError):
                self.watcher.stdin.write(f"{number}\n".encode())
                self.watcher.stdin.flush()


@contextmanager
def _watcher(lock: int) -> Iterator[_Watch]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", process_session.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=(lock,),
    ) as watcher:
        yield _Watch(watcher=watcher, lock=lock)


def _wait(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> tuple[int, float]:
    # wait4 and not Popen.wait: its usage covers the process and all it waited for.
    pause, shown = _POLL_SECONDS[0], time.monotonic()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        time.sleep(pause)
        pause = min(pause * 2, _POLL_SECONDS[1])
        # counting object files costs: not at every look
        if time.monotonic() - shown >= _TICK_SECONDS:
            shown = time.monotonic()
            tick()


def _tick(progress: Callable[[Progress], None], step: BuildStep, gauge: BuildProgress) -> None:
    progress(Progress(step=step.name, share=gauge.share()))


def fill(argument: str, tokens: dict[str, str]) -> str:
    """*argument* with what its tokens stand for, ``{jobs}`` and the like."""
    for name, value in tokens.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument


def _missing(program: str, why: str) -> BuildError:
    return BuildError(
        f'could not run "{program}"', detail=why, hint=_INSTEAD.get(program, SETUP_HINT)
    )


@cache
def _toolchain(
    search_path: str, compiler: Compiler, *, is_native: bool
) -> tuple[tuple[str, str], ...]:
    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": search_path, "LC_ALL": "C"}
        try:
            return subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
        except (OSError, subprocess.CalledProcessError) as error:
            raise _missing(argv[0], str(error)) from error

    def first_line(*argv: str) -> str:
        return run(*argv).stdout.splitlines()[0].strip()

    facts = (
        ("cc", first_line(compiler, "--version")),
        ("ld", first_line("ld", "--version")),
        ("bison", first_line("bison", "--version")),
        ("flex", first_line("flex", "--version")),
        ("libc", " ".join(platform.libc_ver())),
        ("machine", platform.machine()),
    )
    if not is_native:
        return facts
    return (*facts, ("native", native_processor(run(compiler, *NATIVE_QUESTION).stderr)))
