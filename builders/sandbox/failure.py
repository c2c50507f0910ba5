"""What is said of a build step that failed: where to look, the log's last lines, and one hint."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path

from base.errors import BuildError, BuildInterruptedError
from base.files import read_end
from builders.recipe import BuildStep, Recipe

SETUP_HINT = 'Install what building needs with "make setup".'
_SPACE_HINT = "Free some space, or put the cache elsewhere with LANDSPEED_CACHE."
_MEMORY_HINT = "Memory ran out: stop what else runs here, or build on a larger machine."
_KILLED_HINT = (
    "A program of the build was killed, and not by the kernel for memory: give the same command "
    "again, and if it happens again find out who kills it."
)
# gcc's, clang's, make's and ninja's way to say it of a program they started
_KILLED = re.compile(
    r"signal terminated program|unable to execute command: Killed|\] Killed$|^Killed$", re.MULTILINE
)
_KILL_CODES = (-signal.SIGKILL, 128 + signal.SIGKILL)
_HINTS = (
    (re.compile("No space left on device|Disk quota exceeded"), _SPACE_HINT),
    # not any "out of memory": a warning may show a line of PostgreSQL's source that says so
    (
        re.compile("Cannot allocate memory|out of memory allocating|LLVM ERROR: out of memory"),
        _MEMORY_HINT,
    ),
    (
        # a shell's, configure's and meson's way to say so; and a header of a missing package
        re.compile(
            r"(command|:) not found|error: \S+ not found|Program .* not found"
            r"|fatal error: \S+\.h: No such file"
        ),
        SETUP_HINT,
    ),
)
# These causes are not the source's.
_INTERRUPTED = (_SPACE_HINT, _MEMORY_HINT, _KILLED_HINT)
_SHOWN_LINES = 10
_READ_BYTES, _LONGEST_LINE = 1 << 20, 4000
# With make -j the cause may be far from the end.
_SEARCHED_LINES = 200
# On a full disk the very message that says so may not have fitted into the log.
_FULL_BYTES = 32_000_000


def failure(
    recipe: Recipe, step: BuildStep, *, code: int, source: Path, log: Path, memory_kills: int
) -> BuildError:
    """Return the error for *step*, which ended with *code* (negative: minus the signal's number).

    While the build ran, *memory_kills* processes were killed for memory. It is a
    BuildInterruptedError if the source is not to blame.
    """
    # measured code can make it, and a line of it, as long as it likes
    lines = [line[:_LONGEST_LINE] for line in read_end(log, _READ_BYTES).splitlines()]
    tail = "\n".join(lines[-_SHOWN_LINES:])
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    hint = _hint(lines[-_SEARCHED_LINES:], source, code=code, memory_kills=memory_kills)
    return (BuildInterruptedError if hint in _INTERRUPTED else BuildError)(
        f"could not build PostgreSQL {recipe.version} {recipe.variant}",
        detail=f'Step "{step.name}" {how}.\ntree: {source}\nlog:  {log}\n{tail}',
        hint=hint or f"Read the log's first error; the recipe: landspeed plan {recipe.version}.",
    )


def _hint(lines: list[str], source: Path, *, code: int, memory_kills: int) -> str:
    if shutil.disk_usage(source).free < _FULL_BYTES:
        return _SPACE_HINT
    text = "\n".join(lines)
    if code in _KILL_CODES or _KILLED.search(text):
        # others are killed too: only the kernel's count tells whether it was for memory
        return _MEMORY_HINT if memory_kills else _KILLED_HINT
    return next((hint for pattern, hint in _HINTS if pattern.search(text)), "")
