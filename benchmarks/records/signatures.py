"""Signatures of Segments by the machine that sealed them: HMAC-SHA256 with a key of its own.

A machine that has its key signs whatever it seals; who has the key, too, can tell what else claims
to be of that machine. A Segment's name has the digest of its content, so names are signed. The keys
are in $LANDSPEED_MACHINE_KEYS, else in /etc/landspeed/machine.keys: a line "MACHINE HEX" for each.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field

from base.errors import UsageError
from base.files import canonical_json
from benchmarks.records.notes import NoteStore

SIGNATURES = "signatures"
_VARIABLE, _FILE = "LANDSPEED_MACHINE_KEYS", Path("/etc/landspeed/machine.keys")
_LEAST_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Signature:
    """Segments by their digests (the stems of their names), and the HMAC of all of them."""

    machine: str
    segments: tuple[str, ...]
    hmac: Annotated[str, Field(pattern="^[0-9a-f]*$")]

    @classmethod
    def make(cls, machine: str, segments: Iterable[str], key: bytes) -> Self:
        """Sign *segments* with the *key* of *machine*."""
        names = tuple(sorted(segments))
        text = canonical_json([machine, *names])
        made = hmac.new(key, text.encode(), sha256).hexdigest()
        return cls(machine=machine, segments=names, hmac=made)

    def is_valid(self, keys: Mapping[str, bytes]) -> bool:
        """Whether it was made with the key of its machine."""
        key = keys.get(self.machine)
        made = Signature.make(self.machine, self.segments, key).hmac if key else ""
        return hmac.compare_digest(made, self.hmac)


def machine_keys() -> dict[str, bytes]:
    """Return the known keys by machine; UsageError for what is no list of keys."""
    text = os.environ.get(_VARIABLE)
    if not text:  # GitHub sets a variable of a secret that is not there to nothing
        text = _FILE.read_text() if os.access(_FILE, os.R_OK) else ""
    try:
        pairs = [line.split() for line in text.splitlines() if line.strip()]
        keys = {machine: bytes.fromhex(key) for machine, key in pairs}
    except ValueError:
        keys = {"": b""}
    if any(len(key) < _LEAST_BYTES for key in keys.values()):
        raise UsageError(
            "the keys of machines are not valid",
            hint=f"{_VARIABLE}, or {_FILE}, has a line MACHINE KEY for each machine. "
            '"openssl rand -hex 32" makes a KEY.',
        )
    return keys


def sign(root: Path, segments: Iterable[Path]) -> None:
    """Sign those of *segments*, below *root*, whose machine's key is known here."""
    keys, by_machine = machine_keys(), dict[str, list[str]]()
    for path in segments:
        by_machine.setdefault(path.parts[-3], []).append(path.stem)
    for machine in by_machine.keys() & keys.keys():
        made = Signature.make(machine, by_machine[machine], keys[machine])
        NoteStore(root=root / SIGNATURES).add(made)


def signed_segments(root: Path, keys: Mapping[str, bytes]) -> set[tuple[str, str]]:
    """Return machine and digest of each Segment below *root* that one of *keys* signed."""
    found = NoteStore(root=root / SIGNATURES).read(Signature)
    return {(one.machine, name) for one in found if one.is_valid(keys) for name in one.segments}


def unsigned_segments(root: Path) -> list[str]:
    """Return a line for each machine with Segments below *root* that it did not sign.

    A machine whose key is not known here signed none.
    """
    signed, found = signed_segments(root, machine_keys()), dict[str, list[bool]]()
    for path in sorted((root / "segments").glob("*/*/[!.]*.parquet")):
        machine = path.parts[-3]
        found.setdefault(machine, []).append((machine, path.stem) in signed)
    return [
        f"Not signed by {machine}: {known.count(False)} of {len(known)} segments of its results."
        for machine, known in found.items()
        if not all(known)
    ]
