"""Templates: data directories loaded once per Build and scale, from which every Run begins."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from base.build import Build
from base.errors import MeasureError, NotApplicableError, UsageError
from base.files import digest_text, locked, remove_tree, storage_errors, write_atomic
from benchmarks.clients.pgbench import Pgbench
from benchmarks.clients.sysbench import Sysbench
from benchmarks.data.datasets import DatasetLoader
from benchmarks.data.template_store import TEMPLATE_JSON, StoredTemplate, TemplateStore
from benchmarks.machine.copy_tree import clone_tree, sync_file_system, tree_bytes
from benchmarks.machine.processes import end_orphan
from benchmarks.server.citus import distribute, introduce
from benchmarks.server.cluster import (
    Cluster,
    initdb,
    is_ours,
    is_shut_down,
    known_settings,
)
from benchmarks.server.configuration import Configuration
from benchmarks.server.endpoint import load_seconds
from benchmarks.server.home import ServerHome, make_passable
from benchmarks.server.serving import serving
from benchmarks.server.topology import Topology, places, topology_reason
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.dialect import Dialect
from benchmarks.workloads.scenario import CLUSTER_BYTES, disk_bytes
from benchmarks.workloads.sysbench_modes import SysbenchMode

_log = logging.getLogger(__name__)

_BOOT = "work.boot"
# Part of every template's name: one that was loaded in another way is not used again.
_FORMAT = 3
LIMIT = "LANDSPEED_TEMPLATES_GB"
"""The environment variable that limits what all templates take, in GB."""
_LIMIT_GB = 100
# Durable only at its end, and undisturbed: a load that is interrupted starts anew. Not
# synchronous_commit = off: VACUUM sets no hint bit for a commit that is not flushed yet.
_LOAD_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "maintenance_work_mem": "256MB",
}


@dataclass(frozen=True, kw_only=True)
class Template(StoredTemplate):
    """A loaded, vacuumed, frozen and shut-down data directory.

    With a ``topology`` it is one that holds those of all servers.
    """

    topology: Topology | None = None

    @property
    def clusters(self) -> tuple[Path, ...]:
        """What servers run on of it."""
        return places(self.topology, self.data)

    def is_whole(self) -> bool:
        """Whether it is proven, and nothing that used it in place was killed meanwhile."""
        return self.facts() is not None and all(
            is_ours(place) and is_shut_down(place) for place in self.clusters
        )


@dataclass(frozen=True, kw_only=True)
class Templates:
    """The loaded data directories in one ServerHome, under a limit of bytes.

    ``client`` loads them, as ``own``, a mode that is not of pgbench's, wants them; with a
    ``topology`` into several servers. ``initdb_options`` are added to those of every cluster.
    """

    home: ServerHome
    client: Pgbench | Sysbench
    limit_bytes: int
    own: Script | SysbenchMode | DatasetLoader | None = None
    topology: Topology | None = None
    initdb_options: tuple[str, ...] = ()

    def ensure(self, build: Build, scale: int) -> Template:
        """Return the Template of *build* at *scale*, loaded now if it is not there yet."""
        with self._held(build, scale) as template:
            return template

    @contextmanager
    def lease(self, build: Build, scale: int, *, writes: bool) -> Iterator[Path]:
        """Yield a data directory of *build* at *scale* in the state it was loaded in, ours alone.

        A Run that only reads uses the Template itself and must shut its server down: if
        it is killed instead, pg_control says so, and the Template is loaded anew before it
        is used again. A Run that writes uses the working copy beside it, which is made the
        same as the Template first: that writes what the last Run changed, into the blocks
        it already has, where copying and removing all of it took four times as long.
        """
        with self._held(build, scale) as template:
            if writes:
                self._restore(template)
            yield template.work if writes else template.data

    def copy(self, build: Build, scale: int, target: Path) -> None:
        """Make *target* a data directory of *build* at *scale* in the state it was loaded in.

        What *target* has of an earlier copy is used. Several may be made at once, and used
        beside each other; they are not waited for until they are on disk. On a full disk other
        templates are removed to make room for a new one.
        """
        with self._held(build, scale) as template:
            if not target.exists():
                # no limit: the copy is no template, and is removed with the run
                needed = tree_bytes(template.data) + CLUSTER_BYTES
                self._store.make_room(target.parent, needed, f'copy "{template.data}"')
            with storage_errors(f'copy "{template.data}"', target):
                clone_tree(template.data, target)

    def _restore(self, template: Template) -> None:
        """Make the working copy of *template* the same as its data, and wait for the disk.

        Files are compared by size and time, which a machine that lost power may have on
        disk without the content: a copy from before the last boot is not trusted.
        """
        boot = template.directory / _BOOT
        for place in places(self.topology, template.work):
            end_orphan(place)
        if not (boot.exists() and boot.read_text() == _boot_id()):
            remove_tree(template.work)
        if not template.work.exists():
            self._make_room(tree_bytes(template.data) + CLUSTER_BYTES)
        with storage_errors(f'copy "{template.data}"', template.work):
            clone_tree(template.data, template.work)
            sync_file_system(template.work)
            write_atomic(boot, _boot_id())

    @contextmanager
    def borrowed(self, build: Build, scale: int) -> Iterator[None]:
        """Leave of *build* at *scale* what there was before: a Template made inside is removed."""
        template = self._template(build, scale)
        was_there = template.facts() is not None
        try:
            yield
        finally:
            if not was_there:
                template.remove()

    @property
    def _store(self) -> TemplateStore:
        return TemplateStore(root=self.home.templates)

    def _template(self, build: Build, scale: int) -> Template:
        data = (self.own.data if self.own else "") + self._distribution
        data += " ".join(self.initdb_options)
        other = f"-{digest_text(data)[:8]}" if data else ""
        across = f"-{self.topology.name}" if self.topology else ""
        name = f"{build.digest[:16]}-s{scale}{other}{across}-v{_FORMAT}"
        return Template(directory=self.home.templates / name, topology=self.topology)

    @contextmanager
    def _held(self, build: Build, scale: int) -> Iterator[Template]:
        """Hold the lock of the Template of *build* at *scale*, loaded now if it is not there."""
        with storage_errors("create a directory", self.home.templates):
            make_passable(self.home.templates)
        template = self._template(build, scale)
        with locked(template.lock):
            if template.directory.exists():
                for place in template.clusters:
                    end_orphan(place)
            if not template.is_whole():
                self._require_distributable(build)
                remove_tree(template.directory)
                self._make_room(self._load_bytes(scale))
                # asv prints messages without their arguments
                _log.info(f"loading scale {scale} into {build.label}")
                try:
                    self._load(build, scale, template)
                except BaseException:
                    remove_tree(template.directory)
                    raise
            os.utime(template.directory / TEMPLATE_JSON)
            yield template

    def _load(self, build: Build, scale: int, template: Template) -> None:
        """Load *template*; its proof is written when all of it is on disk."""
        with storage_errors(f'create "{template.directory}"', template.directory):
            make_passable(template.directory)
        known = known_settings(build)
        stock = Configuration.named("default").settings(known, 0)
        settings = stock | _LOAD_SETTINGS | Dialect.of(known).load_settings
        if self.topology:
            make_passable(template.data)
        with self.home.run_directory() as run:
            for place in template.clusters:
                initdb(build, place, run, self.initdb_options)
        with serving(
            self.home,
            build=build,
            data=template.data,
            topology=self.topology,
            settings=settings,
            keep=True,
            # servers of a topology look for each other beside their data
            confined=self.topology is None,
        ) as servers:
            self._fill(servers, scale)
        with storage_errors("write a template to disk", template.directory):
            sync_file_system(template.directory)
        facts = {"build": build.facts(), "scale": scale, "bytes": tree_bytes(template.data)}
        write_atomic(template.directory / TEMPLATE_JSON, json.dumps(facts))

    def _fill(self, servers: Sequence[Cluster], scale: int) -> None:
        """Load the first of fresh *servers* at *scale*, and have it give its workers their part."""
        with ExitStack() as stack:
            stack.enter_context(servers[0].answering())
            seconds = load_seconds(scale)
            connections = [stack.enter_context(one.connect(seconds=seconds)) for one in servers]
            first = connections[0]
            if self.topology:
                introduce(self.topology, dict(zip(self.topology.servers, connections, strict=True)))
            loader = self.own if isinstance(self.own, DatasetLoader) else self.client
            loader.initialise(servers[0].host, scale=scale)
            if self.own and self.own.load:
                try:
                    first.execute(self.own.load.encode())
                except psycopg.Error as error:
                    raise MeasureError(
                        f"could not load the data of {self.own} into {servers[0].build.label}",
                        detail=str(error).strip(),
                        hint="The file is executed as it is; psql's own commands are not known.",
                    ) from error
            if self.topology:
                distribute(first, self._distribution)
            for connection in connections:
                # every catalog too: nothing is left for autovacuum to do, and hint bits
                # are set, so that the first reader does not write
                connection.execute("VACUUM FREEZE ANALYZE")
                connection.execute("CHECKPOINT")

    @property
    def _distribution(self) -> str:
        """The SQL that gives tables to workers; empty where there are none, or none is known."""
        return self.own.distribute if self.topology and isinstance(self.own, Script) else ""

    def _require_distributable(self, build: Build) -> None:
        """NotApplicableError where several servers are wanted, and cannot be."""
        reason = topology_reason(build) if self.topology else None
        if self.topology and not (reason or self._distribution):
            reason = "the script does not say how its tables are distributed"
        if self.topology and reason:
            raise NotApplicableError(
                f"{build.label} cannot run across {self.topology.name}", detail=reason
            )

    def _load_bytes(self, scale: int) -> int:
        """Return the disk space that loading at *scale* takes."""
        size = self.own.size if self.own else 1.0
        if self.topology is None:
            return disk_bytes(scale, size)
        # all of it is on the coordinator first
        return disk_bytes(scale, 2 * size, servers=len(self.topology.servers))

    def _make_room(self, needed: int) -> None:
        """Remove templates, the least recently used first, until *needed* bytes fit."""
        what = f"load a template ({needed / 1e9:.1f} GB)"
        self._store.make_room(self.home.root, needed, what, limit=self.limit_bytes)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text()


def template_limit(environment: dict[str, str]) -> int:
    """Return the limit, in bytes, for all templates: $LANDSPEED_TEMPLATES_GB, else 100 GB."""
    text = environment.get(LIMIT, str(_LIMIT_GB))
    if not re.fullmatch(r"\d+", text):
        raise UsageError(f'{LIMIT} is "{text}"', hint="Set it to a whole number of gigabytes.")
    return int(text) * 10**9
