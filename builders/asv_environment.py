"""asv's environment plug-in: what asv calls an installed project is a Build from our store.

Named in asv.conf.json. asv finds it as a subclass of its Environment; no virtualenv is made,
benchmarks run in asv's own interpreter and find the Build by $LANDSPEED_PREFIX.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

from asv import util
from asv.console import log
from asv.environment import Environment

from base.build import Build, Variant
from base.errors import LandspeedError, VariantError
from base.paths import Paths
from builders.builder import Builder
from builders.sandbox import Progress


class PgBuild(Environment):  # type: ignore[misc]
    """The environment of one variant: asv installs commits of PostgreSQL into it."""

    tool_name = "pgbuild"

    def __init__(self, conf: Any, python: str, requirements: Any, tagged_env_vars: Any) -> None:
        # asv's constructor already asks for a name, which is made of these
        self._python = python
        self._requirements = requirements
        super().__init__(conf, python, requirements, tagged_env_vars)
        logging.getLogger("builders").setLevel(logging.INFO)
        self._global_env_vars["LANDSPEED_PROJECT"] = str(Path.cwd())
        try:
            self._variant = Variant.from_axes(requirements)
        except (ValueError, TypeError, VariantError) as error:
            raise util.UserError(f"asv.conf.json, matrix.req: {error}") from error

    @property
    def name(self) -> str:
        return str(super().name)

    def check_presence(self) -> bool:
        return Path(self._path).is_dir()

    def _setup(self) -> None:
        Path(self._path).mkdir(parents=True, exist_ok=True)

    @property
    def installed_commit_hash(self) -> str | None:
        # the store knows what is built; which of it is "installed" is only this process's word
        hash_: str | None = self._global_env_vars.get("ASV_COMMIT")
        return hash_

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        """Build *commit_hash* unless the store has it; asv.util.ProcessError if it cannot be.

        That is the one error asv takes for "this commit does not build" and goes on after.
        """
        del conf, repo
        try:
            build, client = self._build(commit_hash)
        except LandspeedError as error:
            log.error(str(error))
            raise util.ProcessError(
                ["landspeed", "build", commit_hash], 1, "", str(error)
            ) from error
        self._set_commit_hash(commit_hash)
        self._global_env_vars["LANDSPEED_PREFIX"] = str(build.prefix)
        self._global_env_vars["LANDSPEED_PGBENCH_PREFIX"] = str(client.prefix)

    def _build(self, commit_hash: str) -> tuple[Build, Build]:
        builder = Builder.open(Paths.find())

        def show(progress: Progress) -> None:
            log.debug(f"{progress.step} {progress.share:.0%}")

        ref = builder.sources.release_at(commit_hash) or commit_hash
        client = builder.build(builder.newest_stable(), Variant(), progress=show)
        return builder.build(builder.sources.resolve(ref), self._variant, progress=show), client

    def run(self, args: list[str], **kwargs: Any) -> Any:
        return self.run_executable("python", args, **kwargs)

    def find_executable(self, executable: str) -> str:
        return sys.executable if executable == "python" else str(util.which(executable))

    def run_executable(self, executable: str, args: list[str], **kwargs: Any) -> Any:
        environment = dict(kwargs.pop("env", None) or os.environ) | self._global_env_vars
        return util.check_output(
            [self.find_executable(executable), *args], env=environment, **kwargs
        )
