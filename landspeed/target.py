"""Targets: what a person asks to have built or measured, ``REF[:VARIANT]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from base.build import Variant
from base.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Target:
    """A Target is a REF (release, tag, branch or commit) in a build Variant: ``18:bs4``."""

    ref: str
    variant: Variant

    @classmethod
    def parse(cls, word: str, default: Variant) -> Self:
        """The Target that *word* spells; in *default* where it names no variant."""
        # a git ref cannot hold a colon, see git-check-ref-format(1)
        ref, colon, name = word.partition(":")
        if not ref or (colon and not name):
            raise UsageError(
                f'"{word}" is not a target',
                hint="Write REF or REF:VARIANT, such as 18, 17.11, master~3 or 18:bs4.",
            )
        return cls(ref=ref, variant=Variant.parse(name) if colon else default)

    def __str__(self) -> str:
        return f"{self.ref}:{self.variant}"


def parse_targets(words: Sequence[str], default: Variant) -> list[Target]:
    """The Targets that *words* spell, each once, in their order."""
    return list(dict.fromkeys(Target.parse(word, default) for word in words))
