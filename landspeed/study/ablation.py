"""An Ablation: which of many settings carries the gain, and the profiles that tell. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

from base.version import Version
from benchmarks.server.configuration import Configuration, difference, profile_names
from landspeed.stats.plackett_burman import MANY, Signs, fold_over

NameValue = tuple[str, str | None]
"""A setting's name, and its value, None for the one that *tuned* has."""

_TUNED = "tuned"


class SettingPattern(StrEnum):
    """A Star is a word for the profiles of an Ablation: its * is its settings."""

    ADDED = "default-with-*"
    WITHOUT = "tuned-without-*"
    ALL = "tuned-*"
    SCREEN = "screen-*"
    ABLATION = "ablation-*"


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """An Ablation asks what each of ``settings`` does, between *default* and all of them.

    They are what *tuned* has, or, if not ``is_tuned``, what a person asks after. ``words`` are
    the profiles of a Part, Stars among them.
    """

    words: tuple[str, ...]
    settings: tuple[NameValue, ...]
    is_tuned: bool

    @classmethod
    def of(
        cls, words: Sequence[str], given: Sequence[NameValue], versions: Collection[Version] = ()
    ) -> Self:
        """The Ablation that *words* ask for, of the settings *given*, or all that *tuned* has.

        One that *tuned* has for none of *versions*, if any are given, is left out.
        """
        own = tuple((name, None) for name in difference(versions))
        # by name: the same settings are the same design, in whatever order they are given
        settings = tuple(sorted(given or own, key=lambda setting: setting[0]))
        return cls(words=tuple(words), settings=settings, is_tuned=not given)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its settings."""
        return tuple(name for name, _ in self.settings)

    @property
    def is_asked(self) -> bool:
        """Whether it is more than profiles that have a name of their own."""
        return any(word in list(SettingPattern) for word in self.words)

    @property
    def is_screened(self) -> bool:
        """Whether its profiles are those of a screening design (with others, or alone)."""
        many = SettingPattern.ABLATION in self.words and len(self.settings) >= MANY
        return many or SettingPattern.SCREEN in self.words

    @cached_property
    def design(self) -> Signs:
        """The screening design, a column for each of its settings."""
        return fold_over(len(self.settings))

    @cached_property
    def screen(self) -> tuple[str, ...]:
        """The profile of each row of the design."""
        return tuple(
            self.profile([n for n, sign in zip(self.names, row, strict=True) if sign > 0])
            for row in self.design
        )

    @cached_property
    def labels(self) -> dict[str, str]:
        """What a report calls those of its profiles whose names say many settings."""
        labels = {}
        if self.is_screened:
            labels = {name: f"screen-{row:02}" for row, name in enumerate(self.screen, start=1)}
        if not self.is_tuned:
            labels[self.profile(self.names)] = "with all settings"
        return {name: label for name, label in labels.items() if name not in profile_names()}

    def profile(self, on: Collection[str]) -> str:
        """The profile that has those settings that are *on*, and not the others.

        It is spelled from the end that is nearer, *default* or *tuned*.
        """
        if self.is_tuned and 2 * len(on) > len(self.settings):
            off = [name for name in self.names if name not in on]
            return Configuration.named(
                "".join([_TUNED, *(f"-without-{name}" for name in off)])
            ).name
        return Configuration.named(f"default{spelled(s for s in self.settings if s[0] in on)}").name

    def added(self, name: str) -> str:
        """The profile that has the setting *name* alone."""
        return self.profile([name])

    def without(self, name: str) -> str:
        """The profile that has all settings but *name*."""
        return self.profile([one for one in self.names if one != name])

    @property
    def one_at_a_time(self) -> tuple[str, ...]:
        """The profiles in which each setting is added alone, and left out alone, with the ends."""
        added, without = map(self.added, self.names), map(self.without, self.names)
        return tuple(dict.fromkeys([self.profile(()), *added, self.profile(self.names), *without]))

    @property
    def profiles(self) -> tuple[str, ...]:
        """All its profiles, each once; UsageError if one has a setting that cannot be."""
        found: list[str] = []
        for word in self.words:
            match word:
                case SettingPattern.ADDED:
                    found += map(self.added, self.names)
                case SettingPattern.WITHOUT:
                    found += map(self.without, self.names)
                case SettingPattern.ALL:
                    found.append(self.profile(self.names))
                case SettingPattern.SCREEN:
                    found += self.screen
                case SettingPattern.ABLATION:
                    found += self.screen if self.is_screened else self.one_at_a_time
                case _:
                    found.append(Configuration.named(word).name)
        return tuple(dict.fromkeys(found))

    def facts(self) -> dict[str, Any]:
        """What it asks and how many profiles that takes, as JSON can hold it."""
        return {
            "settings": list(self.names),
            "screen": len(self.screen) if self.is_screened else None,
            "one_at_a_time": len(self.one_at_a_time),
        }


def spelled(settings: Iterable[NameValue]) -> str:
    """What a profile's name says of *settings* that are added to it."""
    return "".join(f"-with-{name}" + (f"={value}" if value else "") for name, value in settings)
