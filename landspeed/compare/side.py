"""The sides of a comparison, and the one question that is put to all of them, as people spell it.

A side is ``REF[:VARIANT][/PROFILE]``; a scenario is the rest of a point as ``landspeed show``
has it: ``MODE[/PROTOCOL[/SCALE[/CLIENTS[/PROFILE]]]]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from base.build import Variant
from base.errors import UsageError
from base.version import Version
from benchmarks.server.configuration import Configuration, is_profile
from benchmarks.workloads.scenario import Mode, Preset, Protocol, Tier
from landspeed.session.target import Target

SIDE = "REF[:VARIANT][/PROFILE]"
SCENARIO = "MODE[/PROTOCOL[/SCALE[/CLIENTS[/PROFILE]]]]"
_SCALE = re.compile(r"(small|medium|large)(?:[-=]([1-9]\d*))?")


@dataclass(frozen=True, kw_only=True)
class Side:
    """A Side is one of the things compared: a Target under a Profile."""

    target: Target
    profile: str

    @classmethod
    def parse(cls, word: str, variant: Variant, profile: str) -> Self:
        """The Side that *word* spells, in *variant* and under *profile* where it names none."""
        head, slash, last = word.rpartition("/")
        # a branch may have slashes in its name: only a profile's name is taken for one
        if slash and (is_profile(last) or ":" in head or _is_release(head)):
            named = Configuration.named(last).name
            return cls(target=Target.parse(head, variant), profile=named)
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
class Question:
    """A Question is what is put to every side: all of a Cell but its profile, and for how long.

    ``scale`` is None for what the tier has on this machine; ``seconds`` are those of a Run.
    """

    mode: Mode = Mode.READ_ONLY
    protocol: Protocol = Protocol.PREPARED
    tier: Tier = Tier.SMALL
    scale: int | None = None
    clients: int = 1
    profile: str = "default"
    seconds: int = 5

    @property
    def scales(self) -> dict[Tier, int]:
        """The scale factors it sets."""
        return {} if self.scale is None else {self.tier: self.scale}

    def preset(self, profiles: tuple[str, ...]) -> Preset:
        """The Preset of its Cells under *profiles*, one each."""
        return Preset(
            name="compare",
            description="one question to every side of a comparison",
            modes=(self.mode,),
            protocols=(self.protocol,),
            tiers=(self.tier,),
            rungs=(self.clients,),
            samples=1,
            seconds=self.seconds,
            profiles=profiles,
        )


def parse_question(
    scenario: str | None,
    *,
    mode: str | None = None,
    protocol: str | None = None,
    scale: str | None = None,
    clients: int | None = None,
    profile: str | None = None,
    seconds: int = Question.seconds,
) -> Question:
    """The Question that *scenario* and the single words spell; defaults for the rest.

    UsageError for what is not one, or if both say the same part.
    """
    words: list[str | None] = [
        mode,
        protocol,
        scale,
        None if clients is None else str(clients),
        profile,
    ]
    if scenario is not None:
        spelled = _words(scenario)
        if any(word and part for word, part in zip(words, spelled, strict=True)):
            raise UsageError(
                "a scenario is given twice",
                detail=f"It is spelled --scenario {scenario}, and by single options as well.",
                hint="Leave out one of the two.",
            )
        words = [word or part for word, part in zip(words, spelled, strict=True)]
    mode, protocol, scale, rung, profile = words
    tier, factor = _scale(scale) if scale else (Question.tier, None)
    return Question(
        mode=Mode(_one_of("mode", list(Mode), mode)) if mode else Question.mode,
        protocol=Protocol(_one_of("protocol", list(Protocol), protocol))
        if protocol
        else Question.protocol,
        tier=tier,
        scale=factor,
        clients=_clients(rung) if rung else Question.clients,
        profile=Configuration.named(profile or Question.profile).name,
        seconds=seconds,
    )


def _words(scenario: str) -> list[str | None]:
    given = [None if word in ("", "*") else word for word in scenario.split("/")]
    if len(given) > 5:
        raise UsageError(
            f'"{scenario}" is not a scenario',
            detail=f"It has {len(given)} parts, at most 5 fit.",
            hint=f"Scenarios are spelled {SCENARIO}, such as read-write/prepared/small/c4.",
        )
    return [*given, *[None] * (5 - len(given))]


def _one_of(what: str, allowed: list[str], word: str) -> str:
    if word not in allowed:
        raise UsageError(
            f'{what} "{word}" does not exist', hint=f"There are: {', '.join(allowed)}."
        )
    return word


def _scale(word: str) -> tuple[Tier, int | None]:
    match = _SCALE.fullmatch(word)
    if match is None:
        raise UsageError(
            f'"{word}" is not a scale',
            hint=f"Write a tier ({', '.join(Tier)}), or with a scale factor: small=100.",
        )
    return Tier(match[1]), int(match[2]) if match[2] else None


def _clients(word: str) -> int:
    number = word.removeprefix("c")
    if not number.isdecimal() or int(number) < 1:
        raise UsageError(
            f'"{word}" is not a number of clients', hint="Write it like c4, or --clients 4."
        )
    return int(number)
