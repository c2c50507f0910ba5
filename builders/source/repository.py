"""The bare git repository that holds all sources under refs of our own."""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import IO

from base.errors import SourceError, StorageError
from base.files import remove_old, remove_tree, storage_errors
from base.version import Version
from builders.source.git import LOCK_SECONDS, NO_LAZY_FETCH, Git

TREES = "refs/landspeed/trees"
IMPORTING = "refs/landspeed/importing"
FORMAT = "1"
# Bytes go in and come out as they are: nothing of the user's or the tree's own settings may
# convert line ends, and info/attributes outranks the .gitattributes inside of PostgreSQL.
# Level 1 halves the time of an import for a tenth of its size.
_CONFIG = f"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tautocrlf = false
\tsymlinks = true
\tcompression = 1
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tpreloadIndex = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[pack]
\tcompression = 1
[advice]
\tgraftFileDeprecated = false
[landspeed]
\tformat = {FORMAT}
"""
_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding -export-ignore -export-subst\n"
# A partial clone: git asks this remote for files that it lacks.
_PARTIAL = """[remote "upstream"]
\turl = "{url}"
\tpromisor = true
\tpartialclonefilter = blob:none
[extensions]
\tpartialClone = upstream
[core]
\trepositoryformatversion = 1
"""
_PACK_SECONDS = 24 * 3600.0
_READ_ERRORS = (tarfile.TarError, EOFError, OSError, UnicodeError)
_NOTES_DATE = re.compile(r"<title>Release date.*?(\d{4}-\d{2}-\d{2})", re.DOTALL)
# The name of a build holds its version: what is longer than any version is none.
_CONFIGURE = re.compile(rb"^(?:PACKAGE_VERSION|VERSION)='([^']{1,20})'", re.MULTILINE)
_MESON = re.compile(rb"^project\(.*?^\s*version:\s*'([^']{1,20})'", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class TreeRef:
    """A release whose tree is in the repository: tree hash, date, and where it came from."""

    version: Version
    tree: str
    date: date
    origin: str


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The trees of releases and the history of an upstream, in one bare git repository.

    A release's tree is kept alive by an annotated tag at refs/landspeed/trees/VERSION: the
    tag's date is the release's, its message says where the tree was taken from. The ref is
    the last thing written: what has one is whole.
    """

    directory: Path

    @property
    def git(self) -> Git:
        """The git commands of this repository."""
        return Git(directory=self.directory)

    @property
    def exists(self) -> bool:
        return (self.directory / "HEAD").is_file()

    def has(self, commits: Iterable[str]) -> bool:
        """Whether all of *commits*, full hashes, are here."""
        asked = "".join(f"{commit}\n" for commit in commits)
        # no lazy fetching: what a partial clone lacks would be asked for one by one
        check = ("cat-file", "--batch-check=%(objecttype)")
        answer = self.git.run(*check, stdin=asked.encode(), environment=NO_LAZY_FETCH)
        return all(line == b"commit" for line in answer.splitlines())

    def ensure(self) -> None:
        """Create the repository if it is not there; the caller holds the lock."""
        if self.exists:
            return
        parent = self.directory.parent
        with storage_errors(f'create "{self.directory}"', self.directory):
            parent.mkdir(parents=True, exist_ok=True)
            new = Path(tempfile.mkdtemp(prefix=".sources-", dir=parent))
            try:
                fresh = Git(directory=new)
                fresh.run("init", "--bare", "--quiet", "--template=", "--object-format=sha1")
                Repository(directory=new).configure("")
                new.chmod(0o755)
                if self.directory.exists():
                    raise StorageError(
                        f'"{self.directory}" is no git repository',
                        detail="It has no file HEAD.",
                        hint="Remove it, then its sources are fetched again.",
                    )
                new.rename(self.directory)
            finally:
                remove_tree(new)

    def configure(self, promisor: str) -> None:
        """Write git's configuration anew: that of a restored repository could start programs.

        *promisor*: The URL that git asks for files that are not here; "" for none.
        """
        quoted = promisor.translate({ord(one): f"\\{one}" for one in '"\\\n'})
        text = _CONFIG + (_PARTIAL.format(url=quoted) if promisor else "")
        self.git.configure(text, {"info/attributes": _ATTRIBUTES})

    def trees(self) -> dict[Version, TreeRef]:
        """Return the releases whose trees are here."""
        if not self.exists:
            return {}
        # not %(*objectname): that asks for the tree, whose clone may be gone
        form = "%(refname:lstrip=3)%09%(object)%09%(creatordate:unix)%09%(contents:subject)"
        found = {}
        for line in self.git.text("for-each-ref", f"--format={form}", TREES).splitlines():
            name, tree, seconds, origin = line.split("\t", 3)
            version = Version.parse(name)
            day = datetime.fromtimestamp(int(seconds), UTC).date()
            found[version] = TreeRef(version=version, tree=tree, date=day, origin=origin)
        return found

    def import_tarball(
        self, version: Version, archive: Path, *, day: date | None, origin: str
    ) -> TreeRef:
        """Import *archive* as the tree of *version*; the caller holds the lock.

        The release's day, where the caller does not know it, is that of its release notes,
        else that of the newest file in the archive.
        """
        with self.git.feed("fast-import", "--quiet", "--force", "--done", "--depth=1") as stream:
            seen = write_tree_commit(archive, stream)
        tree = self.git.text("rev-parse", "--verify", f"{IMPORTING}^{{tree}}")
        is_version = self.version_of(tree)
        if is_version != version:
            raise SourceError(
                f'"{archive.name}" is not PostgreSQL {version}',
                detail=f"Its configure script says that it is {is_version}.",
            )
        packed = datetime.fromtimestamp(seen.newest, UTC).date()
        day = day or self._notes_day(tree, version) or packed
        return self.keep_tree(version, tree, day=day, origin=origin)

    def keep_tree(self, version: Version, tree: str, *, day: date, origin: str) -> TreeRef:
        """Make *tree* the tree of *version*, from now on."""
        seconds = int(noon(day).timestamp())
        tag = self.git.text(
            "mktag",
            stdin=f"object {tree}\ntype tree\ntag {version}\n"
            f"tagger landspeed <landspeed@localhost> {seconds} +0000\n\n{origin}\n",
        )
        self.git.run("update-ref", f"{TREES}/{version}", tag)
        self.git.run("update-ref", "-d", IMPORTING)
        return TreeRef(version=version, tree=tree, date=day, origin=origin)

    def commit_of(self, tree: str) -> str:
        """Return a commit of *tree* without parents, the same one each time."""
        who = "landspeed <landspeed@localhost> 0 +0000"
        text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nA release\n"
        return self.git.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)

    def sweep(self) -> None:
        """Remove what a git that was killed left behind; the caller holds the lock."""
        for leftover in self.directory.glob("fast_import_crash_*"):
            leftover.unlink(missing_ok=True)
        # Young ones are written now: an export fetches what a partial clone lacks, without our
        # lock, and the git of a killed landspeed goes on for a while.
        packs = (self.directory / "objects" / "pack").glob("tmp_*")
        locks = (*self.directory.glob("*.lock"), *(self.directory / "refs").rglob("*.lock"))
        remove_old(packs, _PACK_SECONDS)
        remove_old(locks, LOCK_SECONDS)

    def _notes_day(self, tree: str, version: Version) -> date | None:
        path = f"doc/src/sgml/release-{version.major_text}.sgml"
        text = self.git.read("blob", f"{tree}:{path}") or b""
        title = version.major_text if version.number == 0 else str(version)
        _, _, notes = text.decode(errors="replace").partition(f"<title>Release {title}</title>")
        match = _NOTES_DATE.search(notes[:1000])
        return date.fromisoformat(match[1]) if match else None

    def version_of(self, tree: str) -> Version | None:
        """Return the version that the source in *tree* says it is; None if it is not PostgreSQL."""
        for path, pattern in (("configure", _CONFIGURE), ("meson.build", _MESON)):
            match = pattern.search(self.git.read("blob", f"{tree}:{path}") or b"")
            if match:
                try:
                    return Version.parse(match[1].decode(errors="replace"))
                except ValueError:
                    return None
        return None

    def export(self, tree: str, directory: Path, *, seconds: int) -> None:
        """Write *tree* into the new *directory*, every file dated *seconds* after the epoch.

        One time for all: make must not take a shipped generated file for an outdated one.
        """
        with storage_errors(f'export a source tree to "{directory}"', directory):
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise SourceError(f'"{directory}" is not empty')
            with self.git.scratch_index(directory) as environment:
                # read-tree fetches all missing objects of a partial clone in one go,
                # which "git archive" does one by one
                self.git.run("read-tree", "-u", "--reset", tree, environment=environment)
            for root, _, files in os.walk(directory, topdown=False):
                for path in (*(os.path.join(root, name) for name in files), root):  # noqa: PTH118
                    os.utime(path, (seconds, seconds), follow_symlinks=False)


def noon(day: date) -> datetime:
    """Return 12:00 UTC of *day*: the moment a release is dated."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


@dataclass(kw_only=True)
class ImportResult:
    """What an import saw: the newest mtime in seconds, and the number of files."""

    newest: int = 0
    files: int = 0
    root: str = ""


def write_tree_commit(archive: Path, stream: IO[bytes]) -> ImportResult:
    """Write the content of *archive* to git fast-import's *stream*, as one commit on IMPORTING.

    The leading directory is dropped. Ends with ``done``, without which fast-import
    (run with ``--done``) changes no ref: an import cut short leaves nothing.
    """
    seen = ImportResult()
    stream.write(f"commit {IMPORTING}\ncommitter landspeed <> 0 +0000\ndata 0\n".encode())
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isreg() else None
                _write_member(member, content, stream, seen)
    except BrokenPipeError:
        raise
    except _READ_ERRORS as error:
        raise SourceError(
            f'"{archive.name}" is not a whole tarball', detail=str(error) or type(error).__name__
        ) from error
    if not seen.files:
        raise SourceError(f'"{archive.name}" is empty')
    stream.write(b"\ndone\n")
    return seen


def _write_member(
    member: tarfile.TarInfo, content: IO[bytes] | None, stream: IO[bytes], seen: ImportResult
) -> None:
    if member.isdir():
        return
    path = _path_below_root(member.name, seen)
    if member.issym():
        target = member.linkname.encode()
        _write_blob(stream, "120000", path, io.BytesIO(target), len(target))
    elif member.islnk():
        original = _path_below_root(member.linkname, seen)
        stream.write(f"C {_quoted(original)} {_quoted(path)}\n".encode())
    elif content is not None:
        mode = "100755" if member.mode & 0o100 else "100644"
        _write_blob(stream, mode, path, content, member.size)
    else:
        raise tarfile.TarError(f"{member.name} is neither a file nor a link")
    seen.newest = max(seen.newest, int(member.mtime))
    seen.files += 1


def _write_blob(stream: IO[bytes], mode: str, path: str, content: IO[bytes], size: int) -> None:
    stream.write(f"M {mode} inline {_quoted(path)}\ndata {size}\n".encode())
    data = content.read()
    if len(data) != size:
        raise tarfile.ReadError(f"{path}: unexpected end of data")
    stream.write(data)
    stream.write(b"\n")


def _path_below_root(name: str, seen: ImportResult) -> str:
    parts = PurePosixPath(name).parts
    bad = not parts or parts[0] == "/" or ".." in parts or ".git" in map(str.lower, parts)
    if bad or any(ord(letter) < 32 for letter in name):
        raise tarfile.TarError(f"{name!r} has no place in a release")
    seen.root = seen.root or parts[0]
    if parts[0] != seen.root or len(parts) < 2:
        raise tarfile.TarError(f"{name!r} is outside of {seen.root}/")
    return "/".join(parts[1:])


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
