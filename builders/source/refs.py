"""Parse a REF: a major, a release, or a revision of the git upstream."""

from __future__ import annotations

import re
from dataclasses import dataclass

from base.errors import RefError
from base.version import Version

_VERSION = re.compile(r"\d{1,2}(?:\.\d+)*(?:(?:devel|alpha|beta|rc)\d*)?")
_BASE = r"[A-Za-z0-9_](?:[A-Za-z0-9._/-]*[A-Za-z0-9_-])?"
_REVISION = re.compile(rf"({_BASE})((?:[~^]\d{{0,7}})*)")
_HASH = re.compile(r"[0-9a-f]{4,40}")


@dataclass(frozen=True, kw_only=True)
class Numbered:
    """One release, by its number or its tag: ``17.11``, ``REL_17_11``.

    Where it ``is_major``, ``18`` or ``9.6``, it is the newest available release of that.
    """

    version: Version
    is_major: bool = False

    def __str__(self) -> str:
        return self.version.major_text if self.is_major else str(self.version)


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A commit: a branch, tag or (abbreviated) hash, perhaps followed by ``~3^2``."""

    base: str
    suffix: str

    @property
    def may_be_hash(self) -> bool:
        """Whether the base looks like an abbreviated or full commit hash."""
        return _HASH.fullmatch(self.base) is not None

    @property
    def is_full_hash(self) -> bool:
        """Whether the base has all the digits of a commit hash."""
        return self.may_be_hash and len(self.base) == 40

    def __str__(self) -> str:
        return self.base + self.suffix


def parse_ref(ref: str) -> Numbered | Revision:
    """Return what *ref* asks for; raises RefError when it has no such form.

    Nothing that begins with a dash or holds spaces, colons, ``..`` or ``@{`` passes: what
    passes can be put behind ``refs/heads/`` and handed to git.
    """
    tagged = Version.from_tag(ref)
    if tagged is not None and (tagged.tag == ref or not tagged.is_release):
        return Numbered(version=tagged)
    if _VERSION.fullmatch(ref):
        try:
            version = Version.parse(ref)
        except ValueError:
            raise RefError(
                f'"{ref}" is not a PostgreSQL version',
                detail="A major is two numbers before 10 (9.6, 9.6.24), then one (17, 17.11).",
                hint='"landspeed list" shows what is known.',
            ) from None
        return Numbered(version=version, is_major=ref == version.major_text)
    match = _REVISION.fullmatch(ref)
    refused = match is None or any(bad in ref for bad in ("..", "//", "/.", ".lock/", "/-"))
    if match is None or refused or match[1].endswith(".lock"):
        raise RefError(
            f"{ref!r} is not a ref",
            detail="A ref is a version (18, 9.6, 17.11), a tag, a branch or a commit hash, "
            "perhaps with ~N or ^N after it.",
        )
    return Revision(base=match[1], suffix=match[2])
