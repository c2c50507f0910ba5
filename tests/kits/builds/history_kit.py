"""A made-up history on top of a real release: commits that change what real ones change."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from base.paths import Paths
from builders.builder import Builder
from builders.config import SourceConfig, SourceKind
from builders.source import Sources
from builders.store import Store, limit_from_environment
from tests.kits.builds.sourcekit import IDENTITY

Edit = Callable[[str], str] | str | None
"""What becomes of a file: its text changed, its new text, or None: it is removed."""


@dataclass
class History:
    """A repository that borrows a release's objects and adds commits to them.

    ``tips`` are the commits made so far by name; each is the former one with some files edited.
    """

    directory: Path
    lender: Path
    tips: dict[str, str] = field(default_factory=dict)
    _clock: int = 1_700_000_000

    def __post_init__(self) -> None:
        subprocess.run(
            ["git", "init", "--quiet", "--bare", "--initial-branch=master", str(self.directory)],
            check=True,
        )
        alternates = self.directory / "objects/info/alternates"
        alternates.write_text(f"{self.lender / 'objects'}\n")

    def git(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        """What ``git *arguments`` prints here."""
        done = subprocess.run(
            ["git", f"--git-dir={self.directory}", *arguments],
            input=stdin.encode(errors="surrogateescape"),
            cwd=environment.get("GIT_WORK_TREE", self.directory),
            env=os.environ | IDENTITY | environment,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode(errors="surrogateescape")

    def begin(self, tree: str) -> None:
        """Start from the release's *tree*, without the generated files that only tarballs have."""
        self.git("read-tree", tree)
        names = self.git("ls-files", "-z").split("\0")
        ignores = [name for name in names if name.endswith(".gitignore")]
        place = self.directory / "ignores"
        place.mkdir()
        work = {"GIT_WORK_TREE": str(place)}
        self.git("checkout-index", "-z", "--stdin", stdin="\0".join(ignores), **work)
        shipped = self.git("ls-files", "-z", "-c", "-i", "--exclude-standard", **work)
        self._remove(shipped.split("\0")[:-1])
        self._commit("begin")

    def commit(self, name: str, edits: Mapping[str, Edit]) -> str:
        """The hash of a new commit, called *name*, on top of the last one."""
        for path, edit in edits.items():
            if edit is None:
                self._remove([path])
                continue
            text = edit if isinstance(edit, str) else edit(self.git("show", f":{path}"))
            blob = self.git("hash-object", "-w", "--stdin", stdin=text).strip()
            mode = (self.git("ls-files", "--stage", path) or "100644").split(" ")[0]
            self.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
        return self._commit(name)

    def _remove(self, paths: list[str]) -> None:
        # a mode of 0 removes, see git-update-index(1); --force-remove wants a work tree
        lines = "".join(f"0 {'0' * 40}\t{path}\0" for path in paths)
        self.git("update-index", "-z", "--index-info", stdin=lines)

    def _commit(self, name: str) -> str:
        self._clock += 3600
        when = f"{self._clock} +0000"
        parents = [word for tip in list(self.tips.values())[-1:] for word in ("-p", tip)]
        commit = self.git(
            *("commit-tree", self.git("write-tree").strip(), *parents, "-m", name),
            GIT_AUTHOR_DATE=when,
            GIT_COMMITTER_DATE=when,
        ).strip()
        self.git("update-ref", "refs/heads/master", commit)
        self.tips[name] = commit
        return commit


def builder_of(history: History, shared: Builder, cache: Path) -> Builder:
    """A Builder in *cache* whose upstream is *history*; its sandbox and ccache are *shared*'s."""
    paths = Paths(cache=cache, project=shared.paths.project)
    config = SourceConfig(order=(SourceKind.GIT,), upstream=str(history.directory))
    return replace(
        shared,
        paths=paths,
        sources=Sources(paths=paths, catalog=shared.sources.catalog, config=config),
        store=Store(root=paths.store, limit=limit_from_environment()),
    )


def substitute(old: str, new: str) -> Callable[[str], str]:
    """An edit that puts *new* in place of the first *old*, which must be there."""

    def edit(text: str) -> str:
        assert old in text, f"{old!r} is not there"
        return text.replace(old, new, 1)

    return edit


def append(more: str) -> Callable[[str], str]:
    """An edit that adds *more* at the end."""
    return lambda text: text + more


def function(name: str, value: int) -> str:
    """A C function that the linker keeps."""
    return f"\nextern int {name}(void);\nint\n{name}(void)\n{{\n\treturn {value};\n}}\n"
