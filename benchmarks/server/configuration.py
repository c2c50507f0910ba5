"""Profiles: named differences from the default postgresql.conf, read from profiles.toml.

What a name adds to a row of the table it says itself, so that a record tells all of it:
``BASE[-without-SETTING]…[-with-SETTING[=VALUE]]…[-on-STORAGE][-across-TOPOLOGY]
[-via-POOLER]``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from base.errors import UsageError
from base.typed import RangedRow
from base.version import Version, VersionRange
from benchmarks.server.pooler import POOLERS
from benchmarks.server.storage import STORAGES
from benchmarks.server.topology import TOPOLOGIES

SPELLING = (
    "BASE[-without-SETTING]…[-with-SETTING[=VALUE]]…[-on-STORAGE][-across-TOPOLOGY][-via-POOLER]"
)
_TOML = Path(__file__).with_name("profiles.toml")
_UNITS = {"kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
# Where "-with-SETTING" takes the value from that it does not say, and "-without-SETTING" its own.
_SOURCE, _STOCK = "tuned", "default"
CHECKSUMS = "data_checksums"
"""A setting that initdb takes, and no postgresql.conf."""

_VALUE = r"(?:[A-Za-z0-9_.:%,]|-(?=[0-9]))+"
_CHANGE = re.compile(rf"-(without|with)-([a-z][a-z0-9_.]*)(?:=({_VALUE}))?")
# The settings whose value landspeed itself has to understand.
_UNDERSTOOD = {
    "shared_buffers": re.compile(r"\d+(kB|MB|GB)"),
    "max_connections": re.compile(r"\d+"),
    CHECKSUMS: re.compile(r"on|off"),
}
_NAME = re.compile(
    rf"(?P<base>[a-z]+)(?P<changes>(?:-with(?:out)?-[a-z][a-z0-9_.]*(?:={_VALUE})?)*)"
    rf"(?:-on-(?P<storage>{'|'.join(STORAGES)}))?"
    rf"(?:-across-(?P<topology>{'|'.join(TOPOLOGIES)}))?(?:-via-(?P<pooler>{'|'.join(POOLERS)}))?"
)


class Setting(RangedRow):
    """One row of a configuration: a value, or a share of memory between two sizes.

    ``versions`` are the releases that have it, for those who plan without a build to ask.
    """

    name: str
    profiles: tuple[str, ...]
    value: str | None = None
    fraction: float | None = None
    minimum: str = Field(default="0MB", alias="min")
    maximum: str = Field(default="0MB", alias="max")
    because: str = ""
    see: str = ""

    @model_validator(mode="after")
    def _has_one_value(self) -> Self:
        if (self.value is None) == (self.fraction is None):
            raise ValueError(f'setting "{self.name}" needs a value or a fraction')
        return self

    def text(self, memory_bytes: int) -> str:
        """Return the value as postgresql.conf has it on a machine with *memory_bytes*."""
        if self.value is not None:
            return self.value
        share = int(memory_bytes * (self.fraction or 0.0))
        clamped = max(parse_size(self.minimum), min(parse_size(self.maximum), share))
        return f"{clamped >> 20}MB"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A named difference from the default postgresql.conf, valid for every version.

    Its name begins with a row of the table. ``without`` are settings as "default" has them,
    ``with_`` those of another value, None for that of "tuned". ``storage`` is where the data lies,
    None for the disk; ``topology`` the servers that share them, None for one; ``pooler`` what
    clients connect to, None for the server itself.
    """

    name: str
    base: str
    without: tuple[str, ...] = ()
    with_: tuple[tuple[str, str | None], ...] = ()
    storage: str | None = None
    topology: str | None = None
    pooler: str | None = None

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the configuration called *name*; raises UsageError if there is none."""
        match = _NAME.fullmatch(name)
        if match is None or not is_profile(name):
            raise UsageError(
                f'profile "{name}" does not exist',
                detail=f"Profiles are spelled {SPELLING}.",
                hint=f"There are: {', '.join(profile_names())}.",
            )
        changes = sorted(_CHANGE.findall(match["changes"]), key=lambda change: change[1])
        words = [(kind, setting, value or None) for kind, setting, value in changes]
        _check(name, words)
        spelled = "".join(f"-{k}-{s}" + (f"={v}" if v else "") for k, s, v in words)
        made = cls(
            name=f"{match['base']}{spelled}",
            base=match["base"],
            without=tuple(setting for kind, setting, _ in words if kind == "without"),
            with_=tuple((setting, value) for kind, setting, value in words if kind == "with"),
            storage=match["storage"],
            topology=match["topology"],
            pooler=match["pooler"],
        )
        return replace(made, name=made.name + made._place)

    @property
    def server(self) -> str:
        """Its name without storage, topology and pooler."""
        return self.name.removesuffix(self._place)

    @property
    def _place(self) -> str:
        words = {"on": self.storage, "across": self.topology, "via": self.pooler}
        return "".join(f"-{word}-{name}" for word, name in words.items() if name)

    def settings(self, known: Collection[str], memory_bytes: int) -> dict[str, str]:
        """Return what to write to postgresql.conf on a machine with *memory_bytes*.

        Rows of the table that are not *known* to the server are left out. What the profile's name
        gives a value is not: a server refuses what it does not know.
        """
        found = {
            setting.name: setting.text(memory_bytes)
            for setting in _table()[1]
            if self._source(setting.name) in setting.profiles and setting.name in known
        }
        given = {name: value for name, value in self.with_ if value is not None}
        given.pop(CHECKSUMS, None)
        return found | given

    @property
    def initdb_options(self) -> tuple[str, ...]:
        """Options of initdb for what its name says of a cluster."""
        value = dict(self.with_).get(CHECKSUMS)
        if value is None:
            return ()
        return ("--no-data-checksums" if value == "off" else "--data-checksums",)

    def shared_buffers(self, memory_bytes: int) -> int:
        """Its shared_buffers in bytes, the same for every Version."""
        return parse_size(self._of_all_versions("shared_buffers", memory_bytes))

    def max_connections(self, memory_bytes: int) -> int:
        """Return the connections its servers accept, the same for every Version."""
        return int(self._of_all_versions("max_connections", memory_bytes))

    def _source(self, setting: str) -> str:
        """Return the profile of the table that *setting* is taken from."""
        if setting in self.without:
            return _STOCK
        return _SOURCE if setting in dict(self.with_) else self.base

    def _of_all_versions(self, name: str, memory_bytes: int) -> str:
        given = dict(self.with_).get(name)
        if given is not None:
            return given
        source = self._source(name)
        rows = [row for row in _table()[1] if row.name == name and source in row.profiles]
        if len(rows) != 1 or rows[0].versions != VersionRange():
            raise ValueError(f'profile "{self.name}" must set {name} once, for all versions')
        return rows[0].text(memory_bytes)


def _check(name: str, words: list[tuple[str, str, str | None]]) -> None:
    """UsageError if the changes in a profile's *name* say nothing, or one thing twice."""
    settings = [setting for _, setting, _ in words]
    for kind, setting, value in words:
        known = _UNDERSTOOD.get(setting)
        if settings.count(setting) > 1:
            wrong = f"{setting} is named twice."
        elif kind == "without" and value is not None:
            wrong = f"A setting that is left out has no value: {setting}={value}."
        elif value is None and setting not in difference():
            wrong = f'"{_SOURCE}" and "{_STOCK}" do not differ in {setting}: say its value.'
        elif value is not None and known is not None and not known.fullmatch(value):
            wrong = f"{setting} is {value}: write {_wanted(setting)}."
        else:
            continue
        raise UsageError(
            f'profile "{name}" does not exist',
            detail=wrong,
            hint=f"Profiles are spelled {SPELLING}.",
        )


def _wanted(setting: str) -> str:
    if setting == CHECKSUMS:
        return "on or off"
    return "a whole number, with kB, MB or GB for a size"


def difference(versions: Collection[Version] = ()) -> tuple[str, ...]:
    """Return the settings in which "tuned" and "default" differ, in the table's order.

    Of *versions*, if any are given, those that one of them has.
    """
    rows = [
        row.name
        for row in _table()[1]
        if row.profiles == (_SOURCE,)
        and (not versions or any(version in row.versions for version in versions))
    ]
    return tuple(dict.fromkeys(rows))


def is_profile(word: str) -> bool:
    """Whether *word* is spelled like a profile."""
    match = _NAME.fullmatch(word)
    return match is not None and match["base"] in profile_names()


def profile_names() -> tuple[str, ...]:
    """Return the names of all shipped profiles, in the table's order."""
    return _table()[0]


def shared_buffers_span(memory_bytes: int) -> tuple[int, int]:
    """Return the smallest and the largest shared_buffers, in bytes, of all shipped profiles."""
    sizes = [Configuration.named(name).shared_buffers(memory_bytes) for name in profile_names()]
    return min(sizes), max(sizes)


def parse_size(text: str) -> int:
    """Return the bytes in a setting such as ``128MB``; ``ValueError`` if it is not a size."""
    for unit, size in _UNITS.items():
        number = text.removesuffix(unit)
        if number != text and number.isdigit():
            return int(number) * size
    raise ValueError(f'"{text}" is not a size in kB, MB or GB')


@cache
def _table() -> tuple[tuple[str, ...], tuple[Setting, ...]]:
    table = tomllib.loads(_TOML.read_text())
    names = tuple(row["name"] for row in table["profile"])
    return names, tuple(Setting.model_validate(row) for row in table["setting"])
