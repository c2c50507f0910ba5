"""Build a source in a variant: look it up in the store, or build it once for all who ask."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from base.build import BUILD_JSON, Build, Variant
from base.errors import BuildError
from base.files import (
    canonical_json,
    digest_text,
    digest_tree,
    files_below,
    locked,
    remove_tree,
    require_free,
    storage_errors,
)
from base.paths import Paths
from builders.catalog import Catalog
from builders.cleanup import sweep
from builders.config import CONFIG_NAME, SourceConfig
from builders.incremental_tree import taken, trim
from builders.recipe import Recipe, client_recipe, recipe
from builders.recipe_table import BuildSystem
from builders.sandbox import Host, Progress, Sandbox
from builders.source import Source, Sources
from builders.store import Store, limit_from_environment

# A source tree of 18 with its objects and a stage: 0.7 GB, measured; twice that to be safe.
_BUILD_BYTES = 1_500_000_000


def cores() -> int:
    """Return how many processes can compile at once: the processors we may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A build that is being made."""

    source: Source
    plan: Recipe
    identifier: str
    progress: Callable[[Progress], None]

    def tell(self, step: str) -> None:
        self.progress(Progress(step=step, share=0.0))


@dataclass(frozen=True, kw_only=True)
class Builder:
    """A sandbox in which sources are built, and the store that keeps the builds.

    With ``keeps_trees``, and if the sandbox builds in place, commits are built incrementally in a
    tree that moves from one commit to the next. Releases differ too much and are always built in
    a clean tree. The installed files are the same either way. ``make_room`` is called before each
    build with a directory, the bytes it needs there and what they are for; it raises StorageError
    if there is no room.
    """

    paths: Paths
    sources: Sources
    sandbox: Sandbox
    store: Store
    keeps_trees: bool = True
    make_room: Callable[[Path, int, str], None] = require_free

    @classmethod
    def open(cls, paths: Paths, sandbox: Sandbox | None = None) -> Self:
        """Return the builder of this machine, with the sources that landspeed.toml names.

        It builds in *sandbox*, by default on the host.
        """
        config = SourceConfig.load(paths.project / CONFIG_NAME)
        return cls(
            paths=paths,
            sources=Sources(paths=paths, catalog=Catalog.load(), config=config),
            sandbox=sandbox or Host(ccache=paths.ccache, jobs=cores()),
            store=Store(root=paths.store, limit=limit_from_environment()),
        )

    def newest_stable(self) -> Source:
        """Return the newest stable release within reach: the one pgbench comes from."""
        newest = self.sources.catalog.newest_stable()
        return self.sources.resolve(newest.version.major_text)

    def recipe(self, source: Source, variant: Variant, system: BuildSystem | None = None) -> Recipe:
        """Return the recipe that `build` would follow."""

        def has(path: str) -> bool:
            return bool(self.sources.hashes(source, [path]))

        return recipe(source.version, variant, system, has=has)

    def identifier(self, source: Source, plan: Recipe) -> str:
        """Return the build's identity: a readable head, and a digest of what it is made of."""
        toolchain = self.sandbox.toolchain(plan.variant)
        whole = {"tree": source.origin.tree, "recipe": plan.digest, "toolchain": toolchain}
        digest = digest_text(canonical_json(whole))[:12]
        return f"{source.version}-{plan.variant}-{digest}"

    def find(
        self, source: Source, variant: Variant, system: BuildSystem | None = None
    ) -> Build | None:
        """Return the build if it is in the store."""
        return self._kept(source, self.recipe(source, variant, system))

    def _kept(self, source: Source, plan: Recipe) -> Build | None:
        found = self.store.find(self.identifier(source, plan))
        # after a power failure files may be empty that were written before their proof
        if found is None or not all(_is_whole(found.program(name)) for name in plan.programs):
            return None
        # a commit that takes others back has the very tree of an earlier one: one Build, two names
        return replace(found, origin=source.origin)

    def build(
        self,
        source: Source,
        variant: Variant,
        system: BuildSystem | None = None,
        *,
        progress: Callable[[Progress], None],
    ) -> Build:
        """Return the build of *source* in *variant*: found, or built now.

        Two processes that ask for one identity build it once. Raises BuildError, StorageError.
        """
        return self._found_or_built(source, self.recipe(source, variant, system), progress)

    def find_client(self) -> Build | None:
        """Return a build of the newest stable release that has pgbench, if one is in the store."""
        source = self.newest_stable()
        alone = client_recipe(source.version)
        return self.find(source, Variant()) or self._kept(source, alone)

    def build_client(self, *, progress: Callable[[Progress], None]) -> Build:
        """Return pgbench of the newest stable release alone, built now; raises as `build` does."""
        source = self.newest_stable()
        return self._found_or_built(source, client_recipe(source.version), progress)

    def _found_or_built(
        self, source: Source, plan: Recipe, progress: Callable[[Progress], None]
    ) -> Build:
        found = self._kept(source, plan)
        if found:
            return found
        identifier = self.identifier(source, plan)
        job = _Job(source=source, plan=plan, identifier=identifier, progress=progress)
        waiting = partial(job.tell, "waiting for another landspeed that builds it")
        with locked(self.store.lock(identifier), waiting=waiting) as held:
            try:
                return self._build_locked(job, held)
            except RecursionError as error:
                raise BuildError(
                    f"could not build {source.origin.name} {plan.variant}",
                    detail=f"Its directories nest too deeply: {error}.",
                    hint="No release of PostgreSQL does this: look at what the source changes.",
                ) from error

    def _build_locked(self, job: _Job, lock: int) -> Build:
        source = job.source
        found = self._kept(source, job.plan)
        if found:
            return found
        with storage_errors(f"build {source.origin.name} {job.plan.variant}", self.paths.trees):
            self._make_private_directories()
            sweep(self.paths.trees, self.store.lock)
            self.make_room(self.paths.cache, _BUILD_BYTES, f"build {source.origin.name}")
            self.sandbox.ccache.mkdir(parents=True, exist_ok=True)
            is_commit = job.source.origin.release is None
            if self.sources.is_of_strangers(job.source):
                strangers = replace(self, sandbox=replace(self.sandbox, for_strangers=True))
                build = strangers._build_afresh(job, lock)
            elif is_commit and self.keeps_trees and self.sandbox.builds_in_place:
                build = self._build_kept(job)
            else:
                build = self._build_afresh(job, lock)
        self.store.trim(keep={job.identifier})
        return build

    def _make_private_directories(self) -> None:
        """Let no other user enter where steps write: a step can leave setuid programs there."""
        for directory in (self.paths.trees, self._logs):
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(0o700)

    @property
    def _logs(self) -> Path:
        return self.paths.cache / "logs"

    def _build_afresh(self, job: _Job, lock: int) -> Build:
        tree = self.paths.trees / job.identifier
        stage = self.paths.trees / f"{job.identifier}.stage"
        # a name of our own: what the git of a killed landspeed still writes is no part of this
        fresh = self.paths.trees / f"{job.identifier}.unpack-{os.getpid()}"
        for leftover in (tree, *self.paths.trees.glob(f"{job.identifier}.*")):
            remove_tree(leftover)
        job.tell("unpack")
        self.sources.export(job.source, fresh)
        fresh.rename(tree)
        seconds = self._run(job, job.plan, tree=tree, stage=stage, lock=lock)
        build = self._stored(job, stage, seconds)
        for leftover in (tree, stage):
            remove_tree(leftover)
        return build

    def _build_kept(self, job: _Job) -> Build:
        """Build a commit in a tree that is kept for its variant, build system and toolchain."""
        source, plan = job.source, job.plan
        toolchain = digest_text(canonical_json(self.sandbox.toolchain(plan.variant)))
        name = f"{plan.variant}-{plan.system}-{toolchain[:8]}"
        with taken(self.paths.trees / "kept", name, self.sources) as (kept, lock):
            run = partial(self._run, job, tree=kept.tree, stage=kept.stage, lock=lock)
            job.tell("update the tree")
            seconds = None
            if work := kept.advance(source, plan):
                # a failure may be the tree's fault: it is repeated in a clean tree
                with suppress(BuildError):
                    spent = run(work.recipe)
                    seconds = spent if kept.trust(source, plan, work) else None
            if seconds is None:
                job.tell("unpack")
                work = kept.renew(source, plan)
                seconds = run(work.recipe)
                kept.trust(source, plan, work)
            build = self._stored(job, kept.stage, seconds)
            remove_tree(kept.stage)
        trim(self.paths.trees / "kept")
        return build

    def _run(self, job: _Job, plan: Recipe, *, tree: Path, stage: Path, lock: int) -> float:
        """Run *plan*, all of *job*'s or what is left of it; return CPU seconds."""
        log = self._logs / f"{job.identifier}.log"
        seconds = self.sandbox.run(
            plan, source=tree, stage=stage, log=log, progress=job.progress, lock=lock
        )
        installed = _prefix(job.plan, stage) / "bin"
        for program in plan.programs:
            path = installed / program
            # A symlink on the way could make the files of another build ours.
            if not path.is_file() or path.resolve() != path:
                raise BuildError(
                    f"the build of PostgreSQL {plan.version} installed no {program}",
                    detail=f"Looked in {installed}.",
                    hint="The recipe's targets are in builders/recipes.toml.",
                )
        return seconds

    def _stored(self, job: _Job, stage: Path, seconds: float) -> Build:
        plan, installed = job.plan, _prefix(job.plan, stage)
        _make_plain(installed)
        build = Build(
            prefix=installed,
            identifier=job.identifier,
            version=job.source.version,
            origin=job.source.origin,
            variant=plan.variant,
            build_system=plan.system.value,
            quirks=tuple(q.name for q in plan.quirks),
            toolchain=self.sandbox.toolchain(plan.variant),
            digest=digest_tree(installed),
            cpu_seconds=round(seconds, 2),
        )
        return self.store.put(installed, build)


def _is_whole(program: Path) -> bool:
    return program.is_file() and program.stat().st_size > 0


def _make_plain(installed: Path) -> None:
    """Clear the setuid and setgid bits of every file below *installed*: others can start these.

    BuildError for what no server has: a pipe, which nobody may read from, or a proof of its own,
    which would be believed if we were killed before we write ours.
    """
    own_proof = installed / BUILD_JSON
    for path in files_below(installed):
        if path.is_symlink():
            continue
        if not path.is_file():
            raise _odd(path)
        path.chmod(path.stat().st_mode & 0o777)
    if os.path.lexists(own_proof):
        raise _odd(own_proof)


def _odd(path: Path) -> BuildError:
    return BuildError(
        f'the build installed "{path.name}"',
        detail=f"No release of PostgreSQL has this: {path}.",
        hint="Look at what the source changes.",
    )


def _prefix(plan: Recipe, stage: Path) -> Path:
    return stage.resolve() / plan.prefix.removeprefix("/")
