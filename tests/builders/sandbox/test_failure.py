"""Which failures of a build are the source's, and which may be gone the next time."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.build import Variant
from base.errors import BuildError, BuildInterruptedError
from base.version import Version
from builders.recipe import BuildStep, Recipe
from builders.recipe_table import BuildSystem
from builders.sandbox.failure import failure


def error_of(root: Path, said: str, code: int) -> BuildError:
    (root / "build.log").write_text(f"{said}\nmake: *** [all] Error 1\n")
    return failed(root, BuildStep(name="make", argv=("make",)), code=code)


def failed(root: Path, step: BuildStep, *, code: int) -> BuildError:
    recipe = Recipe(
        version=Version.parse("18.1"),
        variant=Variant(),
        system=BuildSystem.MESON,
        steps=(step,),
        quirks=(),
        prefix="/usr/local/pgsql",
        programs=("postgres",),
    )
    return failure(recipe, step, code=code, source=root, log=root / "build.log", memory_kills=0)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("cc1: fatal error: error writing to /tmp/cc.s: No space left on device", 2),
        ("virtual memory exhausted: Cannot allocate memory", 2),
        ("cc1: out of memory allocating 65536 bytes after a total of 7 bytes", 2),
        ("gcc: fatal error: Killed signal terminated program cc1", 2),
        ("", -9),
    ],
)
def test_a_build_without_disk_or_memory_or_that_is_killed_is_interrupted(tmp_path, said, code):
    assert isinstance(error_of(tmp_path, said, code), BuildInterruptedError)


@pytest.mark.parametrize(
    "said",
    [
        "main.c:1:5: error: expected ';' before 'return'",
        "sh: 1: bison: not found",
        '  12 |   fprintf(stderr, _("out of memory\\n"));',
    ],
)
def test_a_build_that_fails_by_its_source_or_the_setup_is_not(tmp_path, said):
    error = error_of(tmp_path, said, 2)
    assert not isinstance(error, BuildInterruptedError)
    assert "emory" not in error.hint


def test_of_a_log_without_end_only_the_end_is_read(tmp_path):
    """A build can make its log a terabyte that takes no room."""
    log = tmp_path / "build.log"
    with log.open("wb") as stream:
        stream.truncate(1 << 40)
        stream.seek(0, 2)
        stream.write(b"\ncc1: out of memory allocating 7 bytes\n")
    step = BuildStep(name="make", argv=("make",))
    assert "out of memory" in failed(tmp_path, step, code=2).detail
