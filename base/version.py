"""PostgreSQL versions and ranges of them: the only place that orders versions.

Source of the numbering rules: https://www.postgresql.org/support/versioning/
(two-part majors before 10, one-part from 10 on).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

_FORM = re.compile(r"(\d+(?:\.\d+)*)(?:(devel|alpha|beta|rc)(\d*))?\Z")
_WITHIN = re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?:(?:devel|alpha|beta|rc)\d*)?")
_TAG = re.compile(r"REL_?(\d+(?:_\d+)*)(?:_?(ALPHA|BETA|RC)(\d+))?")
_STAGES = ("devel", "alpha", "beta", "rc", "")


@dataclass(frozen=True, order=True)
class Version:
    """An ordered PostgreSQL version: ``8.3.23``, ``17.11``, ``19devel``.

    ``major`` is ``(8, 3)`` before 10 and ``(17,)`` from 10 on; development
    stages sort before the ``.0`` release.
    """

    major: tuple[int, ...]
    stage: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the Version that *text* spells; ``ValueError`` if it is none.

        A bare major (``17``, ``9.6``) is the lower edge of that major, its ``.0``.
        """
        match = _FORM.match(text)
        if match is None:
            raise ValueError(f'"{text}" is not a PostgreSQL version')
        numbers = [int(n) for n in match[1].split(".")]
        parts = 1 if numbers[0] >= 10 else 2
        if len(numbers) < parts or len(numbers) > parts + 1:
            raise ValueError(f'"{text}" is not a PostgreSQL version')
        stage, number = match[2], match[3]
        if stage is not None:
            if len(numbers) > parts:
                raise ValueError(f'"{text}" is not a PostgreSQL version')
            return cls(tuple(numbers), _STAGES.index(stage), int(number or 0))
        minor = numbers[parts] if len(numbers) > parts else 0
        return cls(tuple(numbers[:parts]), _STAGES.index(""), minor)

    @classmethod
    def said_in(cls, text: str) -> Self:
        """Return the first version in what a program says of itself; ValueError if there is none.

        Vendors add to it: ``PostgreSQL 15.18 (Debian 15.18-0+deb12u1)``, ``16.4-acme``,
        ``14.5.0``. Numbers behind the minor one are the vendor's.
        """
        match = _WITHIN.search(text)
        if match is None:
            raise ValueError(f'"{text}" has no PostgreSQL version')
        numbers = match[0].split(".")
        parts = 2 if numbers[0].isdigit() and int(numbers[0]) < 10 else 1
        return cls.parse(".".join(numbers[: parts + 1]))

    @classmethod
    def from_tag(cls, tag: str) -> Self | None:
        """Return the Version an upstream tag names (``REL9_6_24``, ``REL_17_11``), or None."""
        match = _TAG.fullmatch(tag)
        if match is None:
            return None
        stage = (match[2] or "").lower() + (match[3] or "")
        try:
            return cls.parse(match[1].replace("_", ".") + stage)
        except ValueError:
            return None

    @property
    def is_release(self) -> bool:
        """Whether this is a numbered release, not a development stage."""
        return _STAGES[self.stage] == ""

    @property
    def major_text(self) -> str:
        """The major as people write it: ``9.6``, ``17``."""
        return ".".join(map(str, self.major))

    @property
    def tag(self) -> str:
        """The upstream git tag: ``REL9_6_24``, ``REL9_6_BETA1``; ``REL_17_11`` from 10 on."""
        head = "REL" if self.major[0] < 10 else "REL_"
        major = "_".join(map(str, self.major))
        if self.is_release:
            return f"{head}{major}_{self.number}"
        return f"{head}{major}_{_STAGES[self.stage].upper()}{self.number or ''}"

    def __str__(self) -> str:
        if self.is_release:
            return f"{self.major_text}.{self.number}"
        return f"{self.major_text}{_STAGES[self.stage]}{self.number or ''}"


@dataclass(frozen=True, kw_only=True)
class VersionRange:
    """A half-open range of versions, ``[since, until)``; None is unbounded.

    A development version of a major is inside whatever its release is inside:
    ``18devel`` is in ``since = "18"``.
    """

    since: Version | None = None
    until: Version | None = None

    @classmethod
    def parse(cls, *, since: str | None = None, until: str | None = None) -> Self:
        """Return the range from its two spelled edges; ``ValueError`` for a bad one."""
        return cls(
            since=Version.parse(since) if since else None,
            until=Version.parse(until) if until else None,
        )

    def __contains__(self, version: Version) -> bool:
        edge = (version.major, version.number if version.is_release else 0)
        if self.since is not None and edge < (self.since.major, self.since.number):
            return False
        return self.until is None or edge < (self.until.major, self.until.number)

    def covers(self, version: Version, sign: str | None, has: Callable[[str], bool] | None) -> bool:
        """Whether *version* is inside; at an edge, the source of a development version decides.

        The version number changes on the first day of a development, but the change that makes
        the edge comes later: it is there if the source *has* the file *sign*, where both are given.
        """
        if not version.is_release and sign and has:
            for edge, inside in ((self.since, True), (self.until, False)):
                if edge is not None and version.major == edge.major and edge.number == 0:
                    return has(sign) is inside
        return version in self

    def __str__(self) -> str:
        if self.since is None and self.until is None:
            return "all"
        return f"{self.since or ''} – {f'before {self.until}' if self.until else ''}".strip(" –")
