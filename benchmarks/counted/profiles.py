"""Profiles of counted records, kept in files beside the records."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

from base.errors import RecordError, reason
from base.files import parse_json, warn_set_aside, write_atomic
from base.paths import Paths
from benchmarks.counted.callgrind import Profile
from benchmarks.records.store import PROFILES

# An edge of fewer instructions per transaction is not kept with a profile.
_LEAST = 0.005
_MOST_BYTES = 64 << 20


def profile_path(paths: Paths, identifier: str) -> Path:
    """Return where the profile of the record with this *identifier* is kept."""
    return paths.records / PROFILES / f"{identifier}.json.gz"


def keep_profile(paths: Paths, identifier: str, profile: Profile) -> None:
    """Keep *profile*, per transaction, for the record with this *identifier*."""
    text = json.dumps(profile.facts(least=_LEAST), separators=(",", ":"))
    write_atomic(profile_path(paths, identifier), gzip.compress(text.encode(), mtime=0))


def kept_profile(paths: Paths, identifier: str) -> Profile | None:
    """Return the profile kept for the record *identifier*; None if there is no whole one."""
    path = profile_path(paths, identifier)
    try:
        return read_profile(path) if path.exists() else None
    except RecordError as error:
        warn_set_aside(path, error)
        return None


def read_profile(path: Path) -> Profile:
    """Return the profile in the file at *path*; RecordError if it is damaged."""
    try:
        with gzip.open(path) as stream:
            text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES >> 20} MB")
        return Profile.of(parse_json(text.decode()))
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise RecordError(f'could not read "{path}"', detail=reason(error)) from error
