"""Build a source in a variant: look it up in the store, or build it once for all who ask."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from base.build import Build, Variant
from base.errors import BuildError, BusyError
from base.files import (
    canonical_json,
    digest_text,
    digest_tree,
    locked,
    remove_tree,
    require_free,
    storage_errors,
)
from base.paths import Paths
from builders.catalog import Catalog
from builders.cleanup import sweep
from builders.config import CONFIG_NAME, SourceConfig
from builders.incremental_tree import IncrementalTree, Work, taken, trim
from builders.recipe import Recipe, recipe
from builders.recipe_table import BuildSystem
from builders.sandbox import Host, Progress, Sandbox
from builders.source import Source, Sources
from builders.store import Store, limit_from_environment

# A source tree of 18 with its objects and a stage: 0.7 GB, measured; twice that to be safe.
_BUILD_BYTES = 1_500_000_000


def cores() -> int:
    """How many processes can compile at once: the processors we may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Builds sources in one sandbox and keeps the builds in one store.

    With ``keeps_trees``, and if the sandbox builds in place, commits are built incrementally in a
    tree that moves from one commit to the next. Releases differ too much and are always built in
    a clean tree. The installed files are the same either way.
    """

    paths: Paths
    sources: Sources
    sandbox: Sandbox
    store: Store
    keeps_trees: bool = True

    @classmethod
    def open(cls, paths: Paths, sandbox: Sandbox | None = None) -> Self:
        """The Builder of this machine, with the sources that the project's landspeed.toml names.

        It builds in *sandbox*, by default on the Host.
        """
        config = SourceConfig.load(paths.project / CONFIG_NAME)
        return cls(
            paths=paths,
            sources=Sources(paths=paths, catalog=Catalog.load(), config=config),
            sandbox=sandbox or Host(ccache=paths.ccache, jobs=cores()),
            store=Store(root=paths.store, limit=limit_from_environment()),
        )

    def newest_stable(self) -> Source:
        """The newest stable release that can be had: the one pgbench comes from."""
        newest = self.sources.catalog.newest_stable()
        return self.sources.resolve(newest.version.major_text)

    def recipe(self, source: Source, variant: Variant, system: BuildSystem | None = None) -> Recipe:
        """The Recipe that `build` would follow."""

        def has(path: str) -> bool:
            return bool(self.sources.hashes(source, [path]))

        return recipe(source.version, variant, system, has=has)

    def identifier(self, source: Source, plan: Recipe) -> str:
        """The Build's identity: tree + variant + recipe + toolchain, with a readable head."""
        whole = canonical_json(
            {
                "tree": source.origin.tree,
                "recipe": plan.digest,
                "toolchain": self.sandbox.toolchain(plan.variant),
            }
        )
        return f"{source.version}-{plan.variant}-{digest_text(whole)[:12]}"

    def find(
        self, source: Source, variant: Variant, system: BuildSystem | None = None
    ) -> Build | None:
        """The Build if it is in the store."""
        return self._kept(self.identifier(source, self.recipe(source, variant, system)), source)

    def _kept(self, identifier: str, source: Source) -> Build | None:
        # a commit that takes others back has the very tree of an earlier one: one Build, two names
        found = self.store.find(identifier)
        return replace(found, origin=source.origin) if found else None

    def build(
        self,
        source: Source,
        variant: Variant,
        system: BuildSystem | None = None,
        *,
        progress: Callable[[Progress], None],
    ) -> Build:
        """The Build of *source* in *variant*: found, or built now.

        Two processes asking for one identity build it once. BuildError, StorageError.
        """
        plan = self.recipe(source, variant, system)
        identifier = self.identifier(source, plan)
        found = self._kept(identifier, source)
        if found:
            return found
        lock = self.store.lock(identifier)
        try:
            with locked(lock, wait=False) as held:
                return self._build_locked(source, plan, identifier, progress, held)
        except BusyError:
            progress(Progress(step="waiting for another landspeed that builds it", share=0.0))
        with locked(lock) as held:
            return self._build_locked(source, plan, identifier, progress, held)

    def _build_locked(
        self,
        source: Source,
        plan: Recipe,
        identifier: str,
        progress: Callable[[Progress], None],
        lock: int,
    ) -> Build:
        found = self._kept(identifier, source)
        if found:
            return found
        with storage_errors(f"build {source.origin.name} {plan.variant}", self.paths.trees):
            sweep(self.paths.trees, self.store.lock)
            require_free(self.paths.cache, _BUILD_BYTES, f"build {source.origin.name}")
            self.sandbox.ccache.mkdir(parents=True, exist_ok=True)
            if self._is_walked(source):
                build = self._build_kept(source, plan, identifier, progress)
            else:
                build = self._build_afresh(source, plan, identifier, progress, lock)
        self.store.trim(keep={identifier})
        return build

    def _is_walked(self, source: Source) -> bool:
        is_commit = source.origin.release is None
        return is_commit and self.keeps_trees and self.sandbox.builds_in_place

    def _build_afresh(
        self,
        source: Source,
        plan: Recipe,
        identifier: str,
        progress: Callable[[Progress], None],
        lock: int,
    ) -> Build:
        tree = self.paths.trees / identifier
        stage = self.paths.trees / f"{identifier}.stage"
        # a name of our own: what the git of a killed landspeed still writes is no part of this
        fresh = self.paths.trees / f"{identifier}.unpack-{os.getpid()}"
        for leftover in (tree, *self.paths.trees.glob(f"{identifier}.*")):
            remove_tree(leftover)
        progress(Progress(step="unpack", share=0.0))
        self.sources.export(source, fresh)
        fresh.rename(tree)
        seconds = self.sandbox.run(
            plan,
            source=tree,
            stage=stage,
            log=self._log(identifier),
            progress=progress,
            lock=lock,
        )
        build = self._proven(source, plan, identifier, stage, seconds)
        for leftover in (tree, stage):
            remove_tree(leftover)
        return build

    def _build_kept(
        self,
        source: Source,
        plan: Recipe,
        identifier: str,
        progress: Callable[[Progress], None],
    ) -> Build:
        """Build a commit in a tree that is kept for its variant, build system and toolchain."""
        toolchain = digest_text(canonical_json(self.sandbox.toolchain(plan.variant)))
        name = f"{plan.variant}-{plan.system}-{toolchain[:8]}"
        with taken(self.paths.trees / "kept", name, self.sources) as (kept, lock):

            def run(work: Work) -> float:
                seconds = self.sandbox.run(
                    work.recipe,
                    source=kept.tree,
                    stage=kept.stage,
                    log=self._log(identifier),
                    progress=progress,
                    lock=lock,
                )
                _require_server(plan, kept.stage)
                return seconds

            progress(Progress(step="update the tree", share=0.0))
            seconds = _continue(kept, source, plan, run)
            if seconds is None:
                progress(Progress(step="unpack", share=0.0))
                work = kept.renew(source, plan)
                seconds = run(work)
                kept.trust(source, plan, work)
            build = self._proven(source, plan, identifier, kept.stage, seconds)
            remove_tree(kept.stage)
        trim(self.paths.trees / "kept")
        return build

    def _log(self, identifier: str) -> Path:
        return self.paths.cache / "logs" / f"{identifier}.log"

    def _proven(
        self, source: Source, plan: Recipe, identifier: str, stage: Path, seconds: float
    ) -> Build:
        installed = _require_server(plan, stage)
        build = Build(
            prefix=installed,
            identifier=identifier,
            version=source.version,
            origin=source.origin,
            variant=plan.variant,
            build_system=plan.system.value,
            quirks=tuple(q.name for q in plan.quirks),
            toolchain=self.sandbox.toolchain(plan.variant),
            digest=digest_tree(installed),
            cpu_seconds=round(seconds, 2),
        )
        return self.store.put(installed, build)


def _continue(
    kept: IncrementalTree, source: Source, plan: Recipe, run: Callable[[Work], float]
) -> float | None:
    """CPU seconds of a build that goes on where *kept* is; None where it must start anew."""
    work = kept.advance(source, plan)
    if work is None:
        return None
    try:
        seconds = run(work)
    except BuildError:
        # may be the tree's fault: only a tree that was clean tells that a commit does not build
        return None
    return seconds if kept.trust(source, plan, work) else None


def _require_server(plan: Recipe, stage: Path) -> Path:
    """Where below *stage* a server was installed; BuildError if none was."""
    installed = stage / plan.prefix.removeprefix("/")
    for program in ("postgres", "initdb", "pg_config"):
        if not (installed / "bin" / program).is_file():
            raise BuildError(
                f"the build of PostgreSQL {plan.version} installed no {program}",
                detail=f"Looked in {installed}/bin.",
                hint="The recipe's targets are in builders/recipes.toml.",
            )
    return installed
