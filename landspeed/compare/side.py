"""The sides of a comparison and the scenario that all of them run, as the command line has them.

A side is ``REF[:VARIANT][/CONFIGURATION]``. A scenario is the rest of a point as "landspeed show"
prints it: ``MODE[/PROTOCOL[/SCALE[/CLIENTS[/CONFIGURATION]]]]``.
"""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from base.build import Variant
from base.errors import UsageError
from base.version import Version
from benchmarks.server.configuration import Configuration, is_profile
from benchmarks.workloads.cell_name import CellName, cell_syntax
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import AnyMode, Mode, Preset, Protocol, Tier, mode_named
from landspeed.session.target import Target

SIDE = "REF[:VARIANT][/CONFIGURATION]"
_PARTS = 5
SCENARIO = cell_syntax(_PARTS)
_SCALE = re.compile(r"(small|medium|large)(?:[-=]([1-9]\d*))?")


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the servers to be compared: a target under a profile."""

    target: Target
    profile: str

    @classmethod
    def parse(cls, word: str, variant: Variant, profile: str) -> Self:
        """Return the side that *word* names; *variant* and *profile* are used where it has none."""
        head, slash, last = word.rpartition("/")
        # The name of a branch may contain slashes: only the name of a profile is taken as one.
        if slash and (is_profile(last) or ":" in head or _is_release(head)):
            return cls(target=Target.parse(head, variant), profile=Configuration.named(last).name)
        return cls(target=Target.parse(word, variant), profile=profile)

    def __str__(self) -> str:
        return f"{self.target}/{self.profile}"


def _is_release(ref: str) -> bool:
    try:
        Version.parse(ref)
    except ValueError:
        return ref.startswith("@")
    return True


@dataclass(frozen=True, kw_only=True)
class CompareScenario:
    """What every side of a comparison runs: a cell without a side's own profile.

    ``scale`` is None for the scale factor that the tier has on this machine, ``profile`` that of
    sides that name none, ``seconds`` the length of one run.
    """

    mode: AnyMode = Mode.READ_ONLY
    protocol: Protocol = Protocol.PREPARED
    tier: Tier = Tier.SMALL
    scale: int | None = None
    clients: int = 1
    profile: str = "default"
    seconds: int = 5

    @property
    def scales(self) -> dict[Tier, int]:
        """The scale factors that take the place of the machine's."""
        return {} if self.scale is None else {self.tier: self.scale}

    def preset(self, profiles: tuple[str, ...]) -> Preset:
        """Return the preset with one cell for each of *profiles*."""
        return Preset(
            name="compare",
            description="one scenario for every side of a comparison",
            modes=(self.mode,),
            protocols=(self.protocol,),
            tiers=(self.tier,),
            client_counts=(self.clients,),
            samples=1,
            seconds=self.seconds,
            profiles=profiles,
        )


def parse_scenario(
    scenario: str | None = None,
    *,
    mode: str | None = None,
    script: Path | None = None,
    load: Path | None = None,
    protocol: str | None = None,
    scale: str | None = None,
    clients: int | None = None,
    profile: str | None = None,
    seconds: int = CompareScenario.seconds,
) -> CompareScenario:
    """Return what *scenario* and the single options say, with defaults for the rest.

    The file *script*, and *load* for its data, take the place of a mode. UsageError for a word
    that does not exist, or if two say the same part.
    """
    named = CellName.parse(scenario or "", parts=_PARTS)
    given = (mode or script, protocol, scale, clients, profile)
    if any(word and part for word, part in zip(given, astuple(named), strict=False)):
        raise UsageError(
            "a part of the scenario is given twice",
            detail=f"It is in --scenario {scenario} and in an option of its own.",
            hint="Leave out one of the two.",
        )
    if mode and script:
        raise UsageError("--mode does not go with --script", hint="Leave out one of the two.")
    own = read_script(script, load)
    scale = scale or named.scale
    default = CompareScenario
    tier, factor = _scale(scale) if scale else (default.tier, None)
    return CompareScenario(
        mode=own or mode_named(mode or named.mode or Mode.READ_ONLY),
        protocol=one_of("protocol", Protocol, protocol or named.protocol or default.protocol),
        tier=tier,
        scale=factor,
        clients=clients or named.clients or default.clients,
        profile=Configuration.named(profile or named.configuration or default.profile).name,
        seconds=seconds,
    )


def read_script(script: Path | None, load: Path | None) -> Script | None:
    """Return the script of these files; None if there is none, UsageError for *load* alone."""
    if script:
        return Script.of_file(script, load)
    if load:
        raise UsageError("--load needs --script", hint="It is SQL that makes a script's tables.")
    return None


Word = TypeVar("Word", bound=StrEnum)


def one_of(what: str, words: type[Word], word: str) -> Word:
    """Return the one of *words* that *word* spells; UsageError about a *what* if there is none."""
    if word not in list(words):
        hint = f"Choose {', '.join(words)}."
        raise UsageError(f'{what} "{word}" does not exist', hint=hint)
    return words(word)


def _scale(word: str) -> tuple[Tier, int | None]:
    match = _SCALE.fullmatch(word)
    if match is None:
        raise UsageError(
            f'"{word}" is not a scale',
            hint=f"Write a tier ({', '.join(Tier)}), or a tier with a scale factor: small=100.",
        )
    return Tier(match[1]), int(match[2]) if match[2] else None
