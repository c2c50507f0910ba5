"""Targets, which a person asks to build or measure: ``REF[:VARIANT]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from base.build import Variant
from base.errors import UsageError
from builders.external import is_name


@dataclass(frozen=True, kw_only=True)
class Target:
    """A REF (release, tag, branch or commit) in a build variant: ``18:bs4``.

    ``@NAME`` is a server that was registered under that name, in the variant it has.
    """

    ref: str
    variant: Variant

    @classmethod
    def parse(cls, word: str, default: Variant) -> Self:
        """Return the target that *word* spells; in *default* where it names no variant."""
        # a git ref cannot hold a colon, see git-check-ref-format(1)
        ref, colon, name = word.partition(":")
        if not ref or (colon and not name):
            raise UsageError(
                f'"{word}" is not a target',
                hint="Write REF or REF:VARIANT, such as 18, 17.11, master~3 or 18:bs4.",
            )
        target = cls(ref=ref, variant=Variant.parse(name) if colon else default)
        if target.registered is None:
            return target
        if colon:
            raise UsageError(
                f'"{word}" names a variant of a server that was built elsewhere',
                hint=f'It has the one that it was built in: write "{ref}".',
            )
        return cls(ref=ref, variant=Variant())

    @property
    def registered(self) -> str | None:
        """The name of the registered server that it is; None for what is built here."""
        # also a revision, such as @~3, may begin like this
        name = self.ref.removeprefix("@")
        return name if name != self.ref and is_name(name) else None

    @property
    def short(self) -> str:
        """The target with ten digits of a commit's hash; it names its variant only if not bs8."""
        variant = "" if self.variant == Variant() else f":{self.variant}"
        return f"{self.ref[:10]}{variant}"

    def __str__(self) -> str:
        if self.registered is not None:
            return self.ref
        return f"{self.ref}:{self.variant}"


def parse_targets(words: Sequence[str], *defaults: Variant) -> list[Target]:
    """Return the targets that *words* spell in each of *defaults*, each once, in their order."""
    return list(dict.fromkeys(Target.parse(word, one) for word in words for one in defaults))


def require_sources(targets: Sequence[Target]) -> None:
    """Raise UsageError if one of *targets* is a registered server, which is not built here."""
    for target in targets:
        if target.registered is not None:
            raise UsageError(
                f'"{target}" was built elsewhere',
                hint='"landspeed run" and "landspeed build --check" take it as it is.',
            )
