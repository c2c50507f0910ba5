"""A source tree that keeps its object files, so that the next commit only compiles what changed.

It must install exactly what a clean build of the same commit installs, byte for byte. A tree is
continued only if that is certain. Otherwise it starts again from a clean tree, which ccache makes
cheap. These conditions must hold:

- The last build in the tree succeeded with the same recipe, in the same directory, and no file
  was touched since (size, times, inode). The stamp that says so is removed first and written
  last. The machine's packages did not change either, because -MMD leaves system headers out.
- Between the commits only files changed whose dependents make and ninja know for certain: C
  sources and headers, grammars, catalog data. Build descriptions, scripts, and new or removed
  files in the server's directories need a clean tree: PostgreSQL's make does not rebuild an
  object when its Makefile changes, and a new header may hide another one.
- PostgreSQL's make does not link a program again when one of its own libraries changed (pgbench:
  $(OBJS) | submake-libpgport), so everything that is linked is removed first.
- A build that fails in a continued tree, or that changes a file in git (such as a shipped gram.c
  that is older than its gram.y), proves nothing. It is repeated in a clean tree.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

from base.errors import BusyError
from base.files import canonical_json, digest_file, digest_text, locked, remove_tree, write_atomic
from builders.recipe import Recipe
from builders.recipe_table import BuildSystem
from builders.source import Change, ChangeKind, Source, Sources

_STAMP = "TRUSTED.json"
# Part of every stamp: raise it when trees that this module left are not to be continued.
_RULES = 1
# What configure finds out is kept for the next tree that starts anew. Named by the environment:
# with -C the option itself would be compiled into the server (pg_config --configure).
_SITE, _CACHE = "landspeed.site.update", "config.cache"
_DIGITS = 12
_CONFIGURE_INPUTS = ("configure", "config", "src/template", "src/makefiles")
# Whose dependents make and ninja know: by -MMD, by rules, or because install copies them.
_FOLLOWED = frozenset({".c", ".h", ".y", ".l", ".dat", ".txt", ".sql", ".sample", ".stop"})
APART = (
    *("doc", "contrib", "src/test", "src/tutorial", "src/interfaces/ecpg", "src/tools/pgindent"),
    *("src/bin/psql", "src/bin/pg_dump", "src/bin/scripts", "src/bin/pg_basebackup"),
    *("src/bin/pg_upgrade", "src/bin/pg_rewind", "src/pl/plperl", "src/pl/plpython", "src/pl/tcl"),
)
"""What no installed file is made of. meson reads descriptions there, and ninja sees to that."""
# An incremental tree takes about half a gigabyte.
_MOST_KEPT = 8
_ELF = b"\x7fELF"
# What changes when a package with headers or libraries comes, goes or is upgraded.
_SYSTEM = ("/var/lib/dpkg/status", "/usr/include", "/usr/local/include", "/usr/local/lib")


@dataclass(frozen=True, kw_only=True)
class _Trust:
    """What a tree was when it was last known to be whole."""

    rules: int
    place: str
    recipe: str
    system: str
    tree: str
    files: str
    newest_ns: int


@dataclass(frozen=True, kw_only=True)
class Work:
    """The steps of a recipe that an incremental tree still needs, and when its update began."""

    recipe: Recipe
    since_ns: int


@dataclass(frozen=True, kw_only=True)
class IncrementalTree:
    """A source tree with its object files that moves from commit to commit.

    Whoever uses it holds its lock.
    """

    directory: Path
    sources: Sources

    @property
    def lock(self) -> Path:
        """Its lock file, beside it."""
        return self.directory.with_name(f"{self.directory.name}.lock")

    @property
    def tree(self) -> Path:
        """The source tree, built in place."""
        return self.directory / "tree"

    @property
    def stage(self) -> Path:
        """Where the steps install to."""
        return self.directory / "stage"

    @property
    def _stamp(self) -> Path:
        return self.directory / _STAMP

    def advance(self, source: Source, plan: Recipe) -> Work | None:
        """Bring the tree from where it is to *source*; None where it must start anew."""
        trust = self._trust(plan)
        self._stamp.unlink(missing_ok=True)
        remove_tree(self.stage)
        now = time.time_ns()
        if trust is None or now <= trust.newest_ns:  # a clock that was set back
            return None
        changes = self.sources.changes(trust.tree, source)
        if changes is None or any(starts_anew(change, plan.system) for change in changes):
            return None
        self.sources.update(changes, self.tree, time_ns=now)
        if plan.system is BuildSystem.CONFIGURE:
            _remove_linked(self.tree)
        changed = {change.path for change in changes}
        steps = tuple(
            step
            for step in plan.steps
            if not step.configures and (step.edits is None or step.edits in changed)
        )
        return Work(recipe=replace(plan, steps=steps), since_ns=now)

    def renew(self, source: Source, plan: Recipe) -> Work:
        """Throw the tree away and put a clean one of *source* in its place."""
        self._stamp.unlink(missing_ok=True)
        # a name of our own: what the git of a killed landspeed still writes is no part of this
        fresh = self.directory / f"unpack-{os.getpid()}"
        for leftover in (self.tree, self.stage, *self.directory.glob("unpack-*")):
            remove_tree(leftover)
        self.sources.export(source, fresh)
        fresh.rename(self.tree)
        if plan.system is BuildSystem.CONFIGURE:
            plan = self._with_cache(source, plan)
        return Work(recipe=plan, since_ns=time.time_ns())

    def trust(self, source: Source, plan: Recipe, work: Work) -> bool:
        """Whether what was built now is what git says; if so the tree can go on from here."""
        edited = {step.edits for step in plan.steps}
        names = (name for name in self.sources.files(source) if name not in edited)
        if any(_is_newer(self.tree / name, work.since_ns) for name in names):
            return False
        if plan.system is BuildSystem.CONFIGURE:
            self._keep_cache(source, plan)
        files, newest = _state(self.tree)
        trust = _Trust(
            **self._conditions(plan), tree=source.origin.tree, files=files, newest_ns=newest
        )
        write_atomic(self._stamp, canonical_json(asdict(trust)))
        return True

    def _conditions(self, plan: Recipe) -> dict[str, Any]:
        """Return what must be the same now as when the tree was last known to be whole."""
        return {
            "rules": _RULES,
            "place": str(self.tree),
            "recipe": _steps_digest(plan),
            "system": _system(),
        }

    def _trust(self, plan: Recipe) -> _Trust | None:
        try:
            trust = _Trust(**json.loads(self._stamp.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        if trust != replace(trust, **self._conditions(plan)) or not self.tree.is_dir():
            return None
        return trust if _state(self.tree) == (trust.files, trust.newest_ns) else None

    # -- what configure found out ------------------------------------------------------------

    def _with_cache(self, source: Source, plan: Recipe) -> Recipe:
        for kept in self.directory.glob(f"{self._inputs(source, plan)}-*.{_CACHE}"):
            # its name has its own digest: what was written into it by hand is not believed
            if kept.name.split("-")[1].partition(".")[0] == digest_file(kept)[:_DIGITS]:
                shutil.copyfile(kept, self.tree / _CACHE)
        (self.tree / _SITE).write_text(f"cache_file={_CACHE}\n")
        site = ("CONFIG_SITE", f"./{_SITE}")
        steps = tuple(
            replace(step, environment=(*step.environment, site)) if step.configures else step
            for step in plan.steps
        )
        return replace(plan, steps=steps)

    def _keep_cache(self, source: Source, plan: Recipe) -> None:
        found = self.tree / _CACHE
        if not found.is_file():
            return
        name = f"{self._inputs(source, plan)}-{digest_file(found)[:_DIGITS]}.{_CACHE}"
        for former in self.directory.glob(f"*.{_CACHE}"):
            if former.name != name:
                former.unlink()
        write_atomic(self.directory / name, found.read_bytes())

    def _inputs(self, source: Source, plan: Recipe) -> str:
        inputs = self.sources.hashes(source, _CONFIGURE_INPUTS)
        whole = canonical_json([inputs, _steps_digest(plan), _system()])
        return digest_text(whole)[:_DIGITS]


def starts_anew(change: Change, system: BuildSystem) -> bool:
    """Whether a tree cannot be continued after *change*: what depends on it is not certain."""
    path = PurePosixPath(change.path)
    if any(path.is_relative_to(place) for place in APART):
        # what configure reads there, make does not look at again
        return system is BuildSystem.CONFIGURE and path.suffix == ".in"
    is_tap_test = path.parent.name == "t" and path.suffix == ".pl"
    if path.name.startswith((".", "README")) or path.suffix == ".po" or is_tap_test:
        return False
    is_followed = path.suffix in _FOLLOWED and path.parts[0] == "src"  # meson_options.txt
    return change.kind is not ChangeKind.MODIFIED or not is_followed


@contextmanager
def taken(root: Path, name: str, sources: Sources) -> Iterator[tuple[IncrementalTree, int]]:
    """Yield the first unused tree called *name* below *root*, and the descriptor of its lock.

    Builds that run side by side each get a tree of their own.
    """
    for number in count(1):
        kept = IncrementalTree(directory=root / f"{name}.{number}", sources=sources)
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(locked(kept.lock, wait=False))
            except BusyError:
                continue
            yield kept, lock
            return


def trim(root: Path) -> None:
    """Remove the least recently used trees below *root* beyond the limit, unless in use."""
    locks = [lock for lock in root.glob("*.lock") if lock.with_suffix("").is_dir()]
    locks.sort(key=lambda lock: lock.stat().st_mtime_ns, reverse=True)
    for lock in locks[_MOST_KEPT:]:
        with suppress(BusyError), locked(lock, wait=False):
            remove_tree(lock.with_suffix(""))


def _is_newer(path: Path, time_ns: int) -> bool:
    # what the build removed it also changed
    return not os.path.lexists(path) or path.lstat().st_mtime_ns > time_ns


def _steps_digest(plan: Recipe) -> str:
    # not of the version: a tree goes on from one to the next as far as its files allow
    steps = [[step.name, step.argv, step.environment] for step in plan.steps]
    return digest_text(canonical_json([steps, plan.prefix]))


def _system() -> str:
    """Return a digest over what a build takes from the machine besides the toolchain."""
    times = [path.stat().st_mtime_ns if path.exists() else 0 for path in map(Path, _SYSTEM)]
    return digest_text(canonical_json([times, sys.executable, version("meson")]))


def _state(root: Path) -> tuple[str, int]:
    """Return a digest over the metadata of every file below *root*, and the newest mtime in ns.

    The change time is part of it: nobody can write a file and set that back.
    """
    total, newest = sha256(), 0
    for path, status in _files(root):
        newest = max(newest, status.st_mtime_ns)
        facts = (
            *(path, status.st_mode, status.st_size, status.st_ino),
            *(status.st_mtime_ns, status.st_ctime_ns),
        )
        total.update(f"{facts}\n".encode(errors="surrogateescape"))
    return total.hexdigest(), newest


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    # os.scandir and not Path.walk: there are ten thousand of them, and this is done at each commit
    directories = [str(root)]
    while directories:
        with os.scandir(directories.pop()) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.path)
            else:
                yield entry.path, entry.stat(follow_symlinks=False)


def _remove_linked(root: Path) -> None:
    """Remove programs, shared and static libraries: make does not know all they are made of."""
    for path, status in _files(root):
        if not stat.S_ISREG(status.st_mode):
            continue
        if path.endswith(".a") or (status.st_mode & 0o100 and _is_elf(path)):
            os.unlink(path)  # noqa: PTH108


def _is_elf(path: str) -> bool:
    with open(path, "rb") as stream:  # noqa: PTH123
        return stream.read(len(_ELF)) == _ELF
