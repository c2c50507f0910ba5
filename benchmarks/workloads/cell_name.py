"""The one spelling of a cell: on the command line, in reports, and in points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Self

from base.errors import UsageError
from benchmarks.workloads.metrics import scale_param

_WORDS = ("MODE", "PROTOCOL", "SCALE", "CLIENTS", "CONFIGURATION", "BUFFERS")


def cell_syntax(parts: int = len(_WORDS)) -> str:
    """Return the syntax of a cell of at most so many *parts*: ``MODE[/PROTOCOL[/SCALE]]``."""
    first, *others = _WORDS[:parts]
    return first + "".join(f"[/{word}" for word in others) + "]" * len(others)


@dataclass(frozen=True, kw_only=True)
class CellName:
    """The parts of a cell's name, ``read-only/prepared/small-5/c4/default``; None matches all.

    ``scale`` is a tier, with its scale factor where that is given. ``cache_state`` is that of a
    counted cell.
    """

    mode: str | None = None
    protocol: str | None = None
    scale: str | None = None
    clients: int | None = None
    configuration: str | None = None
    cache_state: str | None = None

    @classmethod
    def parse(cls, text: str, *, parts: int = len(_WORDS)) -> Self:
        """Return the name that *text* spells; a part that is empty, ``*`` or left out is None.

        UsageError if it has more than so many *parts*, or its clients are not a number.
        """
        words = [None if word in ("", "*") else word for word in text.split("/")]
        if len(words) > parts:
            raise UsageError(
                f'"{text}" is not a scenario',
                detail=f"It has {len(words)} parts, and a scenario has at most {parts}.",
                hint=f"Write {cell_syntax(parts)}, such as read-write/prepared/small/c4.",
            )
        words += [None] * (len(_WORDS) - len(words))
        mode, protocol, scale, clients, configuration, cache_state = words
        number = clients.removeprefix("c") if clients else None
        if number is not None and not (number.isdecimal() and int(number)):
            raise UsageError(
                f'"{clients}" is not a number of clients', hint="Write it like c4, or --clients 4."
            )
        return cls(
            mode=mode,
            protocol=protocol,
            scale=scale and scale.replace("=", "-"),
            clients=int(number) if number else None,
            configuration=configuration,
            cache_state=cache_state,
        )

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Return the name of the cell in *facts*: a record's ``cell``, or its scalar columns."""
        return cls(
            mode=facts["mode"],
            protocol=facts["protocol"],
            scale=scale_param(facts["tier"], facts["scale"]),
            clients=facts["clients"],
            configuration=facts["profile"],
            cache_state=facts.get("buffers"),
        )

    def __str__(self) -> str:
        words = [None if part is None else str(part) for part in astuple(self)]
        if self.clients is not None:
            words[3] = f"c{self.clients}"
        while words and words[-1] is None:
            words.pop()
        return "/".join(word or "*" for word in words)
