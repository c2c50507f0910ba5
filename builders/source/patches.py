"""Apply a series of patches to a commit, in a tree of its own."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from base.errors import SourceError
from base.files import read_text
from builders.source.git import Git
from builders.source.repository import Repository

_WHO = "landspeed"
# With the committer's date taken from the mail, the same series always makes the same commit.
_COMMITTER = {"GIT_COMMITTER_NAME": _WHO, "GIT_COMMITTER_EMAIL": "landspeed@localhost"}
_AM = ("am", "--quiet", "--empty=drop", "--committer-date-is-author-date", "--no-gpg-sign")
_FAILED = re.compile(r"^error: patch failed: (.+):(\d+)$", re.MULTILINE)
_SHOWN = 16


def apply_series(repository: Repository, commit: str, patches: Sequence[Path]) -> str:
    """Apply *patches* to *commit* as ``git am`` does; return the new commit, which no ref keeps.

    Each file has one mail or several (``git format-patch``, an mbox); mails without a patch are
    passed over. SourceError names the patch, the file and the hunk that do not apply.
    """
    with tempfile.TemporaryDirectory(prefix="landspeed-patches-") as name:
        # The state of git am, its HEAD and its index are not the repository's: only objects are.
        git, tree = Git(directory=Path(name, "git")), Path(name, "tree")
        tree.mkdir()
        git.run("init", "--bare", "--quiet", "--template=", "--object-format=sha1")
        own = {name: repository.directory / name for name in ("config", "info/attributes")}
        git.configure(read_text(own.pop("config")), {key: read_text(at) for key, at in own.items()})
        environment = {
            "GIT_OBJECT_DIRECTORY": str(repository.directory.absolute() / "objects"),
            "GIT_WORK_TREE": str(tree),
            **_COMMITTER,
        }
        git.run("update-ref", "HEAD", commit, environment=environment)
        # git am takes a file that it changes from the index: nothing else is written to the tree
        git.run("read-tree", commit, environment=environment)
        last = commit
        for path in patches:
            failed = git.failure(*_AM, str(path.absolute()), environment=environment)
            if failed is not None:
                raise _refused(path, commit, failed, git.directory / "rebase-apply")
            tip = git.run("rev-parse", "HEAD", environment=environment).decode().strip()
            if tip == last:
                raise SourceError(f'"{path}" holds no patch', hint=_HINT)
            last = tip
    return last


_HINT = 'Give files of "git format-patch", or mails as they were sent.'


def _refused(path: Path, commit: str, said: str, state: Path) -> SourceError:
    """Return the error for a patch that git does not apply: what git *said*, and the hunk."""
    number, total = (read_text(state / name).strip() for name in ("next", "last"))
    subject = read_text(state / "final-commit").partition("\n")[0]
    if not subject:
        return SourceError(f'"{path}" is not a patch', detail=said, hint=_HINT)
    detail = [f"mail {number} of {total}: {subject}" if total != "1" else subject]
    hunks = [
        _hunk(read_text(state / "patch"), file, line) for file, line in _FAILED.findall(said)[:1]
    ]
    detail += hunks or [line for line in said.splitlines() if line.startswith("error: ")]
    return SourceError(
        f'patch "{path}" does not apply to {commit[:10]}',
        detail="\n".join(detail),
        hint="Rebase the series, or name the commit that it was made for.",
    )


def _hunk(patch: str, file: str, line: str) -> str:
    """Return the hunk of *patch* that begins at *line* of *file*, with the file's name."""
    section = re.search(
        rf"^--- (?:a/)?{re.escape(file)}\b.*?(?=^diff --git |\Z)", patch, re.MULTILINE | re.DOTALL
    )
    found = re.search(
        rf"^@@ -{line}[, ].*?(?=^@@ |^-- $|\Z)",
        section[0] if section else "",
        re.MULTILINE | re.DOTALL,
    )
    lines = found[0].rstrip().splitlines() if found else []
    more = [f"… and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return "\n".join([f"{file}, the hunk at line {line}:", *lines[:_SHOWN], *more])
