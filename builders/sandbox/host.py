"""The sandbox that is this machine."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

from base.build import Build, Variant
from base.confinement import can_confine, confined
from base.errors import BuildError
from builders.recipe import Recipe
from builders.sandbox import inside
from builders.sandbox.failure import SETUP_HINT
from builders.sandbox.jobserver import JobServer
from builders.sandbox.steps import Sandbox, Workplace

_log = logging.getLogger(__name__)
_COUNTERS = ("/proc/vmstat",)
# What "make setup" does not install.
_INSTEAD = {
    "clang": 'Install it with "apt-get install clang llvm lld", or leave out clang: gcc is default.'
}


@dataclass(frozen=True, kw_only=True)
class Host(Sandbox):
    """The sandbox that is this machine."""

    builds_in_place: ClassVar[bool] = True

    def _compiles(self, variant: Variant, question: tuple[str, ...]) -> dict[str, str]:
        return dict(_facts(_search_path(), variant.compiler, question))

    def sharing(self, server: JobServer, *, builds: int) -> Self:
        """Return this sandbox for *builds* at once that share the jobs of *server*."""
        del builds
        return replace(self, job_server=server)

    def _workplace(self, recipe: Recipe, *, source: Path, stage: Path, log: Path) -> Workplace:
        # a missing ccache is to configure and meson "a compiler that does not work"
        for name in ("ccache", *dict.fromkeys(step.argv[0] for step in recipe.steps)):
            is_plain = "/" not in name and "{" not in name
            if is_plain and shutil.which(name, path=_search_path()) is None:
                raise _missing(name, f"PostgreSQL {recipe.version} is built with it.")
        argv: tuple[str, ...] = (sys.executable, "-I", "-S", inside.__file__)
        if self.for_strangers and can_confine():
            stage.mkdir(parents=True, exist_ok=True)
            log.touch()
            argv = confined(
                argv,
                hidden=(Path.home(), self.ccache.parent),
                written=(source, stage, log),
                # the worker, and the modules that steps run
                read=(self.ccache, Path(inside.__file__).parents[1]),
            )
        elif self.for_strangers:
            _log.warning(
                "code that is not upstream's is built without a sandbox: bubblewrap is not "
                "installed, or this machine does not allow it"
            )
        return Workplace(
            argv=argv,
            tree=source,
            name=str(source),
            directory=str(source),
            stage=str(stage),
            log=str(log),
            ccache=str(self.ccache),
            path=_search_path(),
            python=sys.executable,
            jobs=self.jobs,
            toolchain=self.toolchain(recipe.variant),
            counters=_COUNTERS,
        )


def printed(*argv: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what the program *argv* prints; raises OSError if it cannot be run, or fails."""
    done = subprocess.run(
        argv,
        env=environment or {"PATH": _search_path(), "LC_ALL": "C"},
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
    """Return why the server of *build* does not run on this machine; empty if it does.

    A container's server may ask for a libc that is newer than ours.
    """
    argv: tuple[str, ...] = (str(build.program("postgres")), "--version")
    environment = build.environment()
    try:
        if not can_confine():
            printed(*argv, environment=environment)
        else:
            # bubblewrap itself must not find the build's libraries
            home, own = (Path.home(),), (build.prefix,)
            printed(*confined(argv, hidden=home, written=(), read=own, environment=environment))
    except OSError as error:
        return str(error)
    return ""


def _search_path() -> str:
    # The interpreter's own bin holds ninja.
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"


def _missing(program: str, why: str) -> BuildError:
    return BuildError(
        f'could not run "{program}"', detail=why, hint=_INSTEAD.get(program, SETUP_HINT)
    )


@cache
def _facts(search_path: str, compiler: str, question: tuple[str, ...]) -> dict[str, str]:
    try:
        return inside.facts(compiler, question, {"PATH": search_path, "LC_ALL": "C"})
    except subprocess.CalledProcessError as error:
        raise _missing(error.cmd[0], str(error)) from error
    except OSError as error:
        raise _missing(error.filename, str(error)) from error
