"""Experiments on settings: the configurations that show which of many cause a gain. Pure."""

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
"""The name of a setting and its value; None is the value in *tuned*."""


class SettingPattern(StrEnum):
    """A name for the configurations of an ablation; * stands for its settings."""

    ADDED = "default-with-*"
    WITHOUT = "tuned-without-*"
    ALL = "tuned-*"
    SCREEN = "screen-*"
    ABLATION = "ablation-*"


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """An experiment on the effect of each of ``settings``, between *default* and all of them.

    If ``is_tuned``, the settings are those of *tuned*; else a person gave them. ``words`` are the
    configurations of a part, setting patterns among them.
    """

    words: tuple[str, ...]
    settings: tuple[NameValue, ...]
    is_tuned: bool

    @classmethod
    def of(
        cls, words: Sequence[str], given: Sequence[NameValue], versions: Collection[Version] = ()
    ) -> Self:
        """Return the ablation of *words* with the settings *given*, or all of *tuned*.

        Settings that *tuned* has for none of *versions*, if there are any, are left out.
        """
        own = tuple((name, None) for name in difference(versions))
        # Sorted, so that the same settings give the same design in whatever order they are given.
        settings = tuple(sorted(given or own, key=lambda setting: setting[0]))
        return cls(words=tuple(words), settings=settings, is_tuned=not given)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its settings."""
        return tuple(name for name, _ in self.settings)

    @property
    def is_asked(self) -> bool:
        """Whether any of its words is a setting pattern."""
        return any(word in list(SettingPattern) for word in self.words)

    @property
    def is_screened(self) -> bool:
        """Whether its configurations include those of a screening design."""
        many = SettingPattern.ABLATION in self.words and len(self.settings) >= MANY
        return many or SettingPattern.SCREEN in self.words

    @cached_property
    def design(self) -> Signs:
        """The screening design, a column for each of its settings."""
        return fold_over(len(self.settings))

    @cached_property
    def screen(self) -> tuple[str, ...]:
        """The configuration of each row of the design."""
        return tuple(
            self.profile([n for n, sign in zip(self.names, row, strict=True) if sign > 0])
            for row in self.design
        )

    @cached_property
    def labels(self) -> dict[str, str]:
        """Short names, for reports, of the configurations with long names."""
        labels = {}
        if self.is_screened:
            labels = {name: f"screen-{row:02}" for row, name in enumerate(self.screen, start=1)}
        if not self.is_tuned:
            labels[self.profile(self.names)] = "with all settings"
        return {name: label for name, label in labels.items() if name not in profile_names()}

    def profile(self, on: Collection[str]) -> str:
        """Return the configuration with the settings *on* and without the others.

        The name starts from *default* or *tuned*, whichever is nearer.
        """
        if self.is_tuned and 2 * len(on) > len(self.settings):
            off = "".join(f"-without-{name}" for name in self.names if name not in on)
            return Configuration.named(f"tuned{off}").name
        return Configuration.named(f"default{spelled(s for s in self.settings if s[0] in on)}").name

    def added(self, name: str) -> str:
        """Return the configuration with the setting *name* alone."""
        return self.profile([name])

    def without(self, name: str) -> str:
        """Return the configuration with all settings except *name*."""
        return self.profile([one for one in self.names if one != name])

    @property
    def one_at_a_time(self) -> tuple[str, ...]:
        """The configurations with each setting alone, without each setting, with none and all."""
        added, without = map(self.added, self.names), map(self.without, self.names)
        return tuple(dict.fromkeys([self.profile(()), *added, self.profile(self.names), *without]))

    @property
    def profiles(self) -> tuple[str, ...]:
        """All its configurations; UsageError if one has an impossible setting."""
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
        """Return its settings and how many configurations it takes, for JSON."""
        return {
            "settings": list(self.names),
            "screen": len(self.screen) if self.is_screened else None,
            "one_at_a_time": len(self.one_at_a_time),
        }


def spelled(settings: Iterable[NameValue]) -> str:
    """Return the part of a configuration's name that adds *settings*."""
    return "".join(f"-with-{name}" + (f"={value}" if value else "") for name, value in settings)
