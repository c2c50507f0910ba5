"""Programs of a build find its libraries; what starts them, with our privileges, does not."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from base.build import Build
from benchmarks.machine.spawn import (
    CLEAN_ENVIRONMENT,
    can_sandbox,
    finding_libraries,
    guarded,
    sandboxed,
)
from builders.sandbox import refusal_of
from tests.kits.builds.buildkit import a_build

# What setpriv and bubblewrap are linked to, beside the C library.
_LOADED_BY_OURS = ("libcap-ng.so.0", "libcap.so.2", "libselinux.so.1", "libpcre2-8.so.0")


@pytest.fixture
def planted(tmp_path: Path) -> Build:
    """A build whose libraries nothing can load: whoever finds them fails. Its server is a script.

    A shell needs none of them.
    """
    for name in _LOADED_BY_OURS:
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).write_text("planted")
    program = tmp_path / "bin" / "postgres"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH"\n')
    program.chmod(0o755)
    return replace(a_build("planted"), prefix=tmp_path)


def run(argv: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("alone", [False, True], ids=["guarded", "sandboxed"])
def test_only_the_program_of_a_build_finds_its_libraries(planted: Build, alone: bool) -> None:
    if alone and not can_sandbox(None):
        pytest.skip("this machine does not let us use bubblewrap")
    argv = finding_libraries(planted, [planted.program("postgres")])
    if alone:
        argv = sandboxed(argv, death=signal.SIGKILL, user=None, written=(), read=(planted.prefix,))
    else:
        argv = guarded(argv, death=signal.SIGKILL)
    done = run(argv, dict(CLEAN_ENVIRONMENT))
    assert (done.stdout, done.stderr) == (f"{planted.prefix / 'lib'}\n", "")
    # the planted ones would be loaded
    done = run(argv, {**CLEAN_ENVIRONMENT, **planted.environment()})
    assert "file too short" in done.stderr


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/dev/shm"])
def test_a_build_is_there_where_what_is_sandboxed_has_an_empty_directory(place: str) -> None:
    if not can_sandbox(None):
        pytest.skip("this machine does not let us use bubblewrap")
    with TemporaryDirectory(prefix="landspeed-test-", dir=place) as name:
        program, secret = Path(name) / "build" / "program", Path(name) / "secret"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\nls {name}\n")
        program.chmod(0o755)
        secret.write_text("")
        argv = sandboxed(
            ["sh", program], death=signal.SIGKILL, user=None, written=(), read=(program.parent,)
        )
        done = run(argv, dict(CLEAN_ENVIRONMENT))
    assert (done.stdout, done.stderr) == ("build\n", "")


def test_a_build_is_asked_whether_it_runs_and_nothing_of_ours_loads_its_libraries(
    planted: Build,
) -> None:
    assert refusal_of(planted) == ""
