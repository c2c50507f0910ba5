"""Run the steps of a recipe through a worker, with their log, progress and CPU time."""

from __future__ import annotations

import json
import select
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar, Self

from base.build import Variant
from base.errors import BuildError
from base.files import canonical_json, parse_json, remove_tree
from base.typed import from_json
from builders.recipe import BuildStep, Recipe
from builders.sandbox import inside
from builders.sandbox.build_progress import BuildProgress, count_sources
from builders.sandbox.failure import failure
from builders.sandbox.jobserver import JobServer
from builders.sandbox.march_native import NATIVE_QUESTION, native_processor

_TICK_SECONDS = 5.0
_END_SECONDS = 20.0
_MOST_BYTES, _SHOWN_BYTES, _MOST_WORDS = 4096, 100, 1 << 20
_JOBS = "-j{jobs}"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a build is doing: its step, and the share done from 0 to 1."""

    step: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Where the steps of one build run: ``argv`` starts the worker, ``tree`` is built in.

    The other paths are those that the steps see. ``first`` steps come before those of the recipe.
    ``name`` is the place's name in the log, and ``counters`` are the kernel's counts of processes
    killed for memory. Only a place in Docker is a named ``container``.
    """

    argv: tuple[str, ...]
    tree: Path
    name: str
    directory: str
    stage: str
    log: str
    ccache: str
    path: str
    python: str
    jobs: int
    toolchain: Mapping[str, str]
    counters: tuple[str, ...]
    first: tuple[BuildStep, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    container: str = ""


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """The exit code of a step, its CPU seconds, and how many processes were killed for memory."""

    code: int
    seconds: float = 0.0
    memory_kills: int = 0


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A running builders.sandbox.inside, which runs one step at a time.

    ``began`` is when it was started, in seconds since 1970.
    """

    began: float
    process: subprocess.Popen[bytes]
    stderr: IO[bytes]

    def do(self, request: dict[str, Any], tick: Callable[[], None]) -> StepResult | None:
        """Return the result of *request*; None if the worker ended.

        BuildError for an answer that is no result: a step can write to the worker's stdout, too.
        """
        requests, answers = self.process.stdin, self.process.stdout
        if requests is None or answers is None:
            return None
        with suppress(BrokenPipeError):
            requests.write(json.dumps(request).encode() + b"\n")
        while not select.select([answers], [], [], _TICK_SECONDS)[0]:
            tick()
        line = answers.readline(_MOST_BYTES)
        try:
            return from_json(StepResult, parse_json(line.decode())) if line else None
        except ValueError as error:
            raise BuildError(
                "the worker of a build sent an answer that cannot be read",
                detail=f"It begins with {line[:_SHOWN_BYTES]!r}.",
                hint="A build step can write such an answer: look at what the source changes.",
            ) from error

    def ended(self) -> tuple[int, str]:
        """Return exit code and stderr of a worker that ended."""
        code = self.process.wait(_END_SECONDS)
        self.stderr.seek(0)
        return code, self.stderr.read(_MOST_WORDS).decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class Sandbox(ABC):
    """A place where recipes are built, on the host or in a container.

    ``ccache`` is the directory of the compiler cache. ``jobs`` is how many processes compile at
    once, in all builds of one ``job_server`` together. A sandbox that ``builds_in_place`` leaves
    object files in the source tree. Builds ``for_strangers`` are of code that is not upstream's:
    they do not write to the compiler cache.
    """

    ccache: Path
    jobs: int
    job_server: JobServer | None = None
    for_strangers: bool = False
    builds_in_place: ClassVar[bool]

    def toolchain(self, variant: Variant) -> dict[str, str]:
        """Return what compiles *variant* here: part of a build's identity."""
        is_native = "native" in variant.flags
        found = self._compiles(variant, NATIVE_QUESTION if is_native else ())
        if is_native:
            found["native"] = native_processor(found["native"])
        return found

    @abstractmethod
    def _compiles(self, variant: Variant, question: tuple[str, ...]) -> dict[str, str]:
        """Return a new dict of inside.facts, of the programs that compile *variant*."""

    @abstractmethod
    def sharing(self, server: JobServer, *, builds: int) -> Self:
        """Return this sandbox for *builds* at once that share the jobs of *server*."""

    @abstractmethod
    def _workplace(self, recipe: Recipe, *, source: Path, stage: Path, log: Path) -> Workplace:
        """Prepare a place to build *recipe* from *source*; raises BuildError if it cannot be."""

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
        """Run every step of *recipe* on *source*, installing below *stage*; return CPU seconds.

        Raises BuildError at the first step that fails. However we end, by an error, Ctrl-C or
        ``kill -9``, no process of a step outlives us for more than a moment, and *lock*, the
        descriptor of a lock file, keeps it locked until the last of them is gone.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        place = self._workplace(recipe, source=source, stage=stage, log=log)
        log.write_text(
            f"# landspeed: PostgreSQL {recipe.version} {recipe.variant} in {place.name}\n"
        )
        expected = count_sources(source, recipe)
        gauge = BuildProgress(tree=place.tree, log=log, expected=expected)
        inherited = (lock, *(self.job_server.descriptors if self.job_server else ()))
        spent = 0.0
        with self._worker(place, inherited) as worker:
            for step in (*place.first, *recipe.steps):

                def tick(name: str = step.name) -> None:
                    progress(Progress(step=name, share=gauge.share()))

                tick()
                request = self._request(step, place)
                with log.open("a") as stream:
                    stream.write(f"$ {' '.join(request['argv'])}\n")
                result = worker.do(request, tick) or self._last_words(worker, place, log)
                spent += result.seconds
                if result.code != 0:
                    error = failure(
                        recipe,
                        step,
                        code=result.code,
                        source=place.tree,
                        log=log,
                        memory_kills=result.memory_kills,
                    )
                    raise self._explained(error, result.memory_kills)
        if place.tree != source:
            remove_tree(place.tree)
        return spent

    def _request(self, step: BuildStep, place: Workplace) -> dict[str, Any]:
        server = self.job_server if _JOBS in step.argv else None
        tokens = {"stage": place.stage, "jobs": str(place.jobs), "python": place.python}
        words = [word for word in step.argv if server is None or word != _JOBS]
        return {
            "argv": [fill(word, tokens) for word in words],
            "environment": {
                **step_environment(place),
                **({"CCACHE_READONLY": "1"} if self.for_strangers else {}),
                **(server.environment if server else {}),
                **step.extra_environment(),
            },
            "directory": place.directory,
            "log": place.log,
            "counters": place.counters,
        }

    @contextmanager
    def _worker(self, place: Workplace, inherited: tuple[int, ...]) -> Iterator[Worker]:
        """Start the worker of *place*, which ends with the block, or when we are killed."""
        with TemporaryFile() as stderr:
            began = time.time()
            process = subprocess.Popen(
                place.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                # a Ctrl-C of the terminal is ours to handle
                start_new_session=True,
                pass_fds=inherited,
            )
            try:
                yield Worker(began=began, process=process, stderr=stderr)
            finally:
                for stream in (process.stdin, process.stdout):
                    if stream is not None:
                        with suppress(BrokenPipeError):
                            stream.close()
                try:
                    process.wait(_END_SECONDS)
                except subprocess.TimeoutExpired:
                    self._discard(place)
                    process.kill()
                    process.wait()
                if process.returncode:
                    # a worker that was killed left its steps
                    inside.end(process.pid)

    def _discard(self, place: Workplace) -> None:
        """End what still runs in *place*; a killed worker's session is ended anyway."""
        del place

    def _last_words(self, worker: Worker, place: Workplace, log: Path) -> StepResult:
        """Return the result that stands for that of a *worker* that ended."""
        del place
        code, words = worker.ended()
        with log.open("a") as stream:
            stream.write(f"{words}\nthe worker ended with exit code {code}\n")
        return StepResult(code=code)

    def _explained(self, error: BuildError, memory_kills: int) -> BuildError:
        """Return *error* with the hint that helps in this sandbox."""
        del memory_kills
        return error


def step_environment(place: Workplace) -> dict[str, str]:
    """Return the environment of every step in *place*.

    It is made from scratch: nothing of the caller's CFLAGS, MAKEFLAGS or PG* may leak in.
    """
    return {
        "PATH": place.path,
        "HOME": place.directory,
        "LC_ALL": "C",
        "TZ": "UTC",
        "CCACHE_DIR": place.ccache,
        "CCACHE_MAXSIZE": "10G",
        "CCACHE_BASEDIR": place.directory,
        "CCACHE_NOHASHDIR": "1",
        # The compiler's own list of headers tells what an object depends on: a miss then
        # costs no second run of the preprocessor (ccache's manual, "The depend mode").
        "CCACHE_DEPEND": "1",
        # The tree was unpacked a moment ago and nobody else writes to it.
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
        # -MMD leaves system headers out: another C library is another compiler.
        "CCACHE_COMPILERCHECK": f"string:{canonical_json(dict(place.toolchain))}",
        **place.variables,
    }


def fill(argument: str, tokens: Mapping[str, str]) -> str:
    """Return *argument* with its tokens, such as ``{jobs}``, replaced."""
    for name, value in tokens.items():
        argument = argument.replace(f"{{{name}}}", value)
    return argument
