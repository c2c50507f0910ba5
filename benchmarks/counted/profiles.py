"""Profiles of counted records, kept in files beside the records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from base.errors import RecordError
from base.files import write_atomic
from base.paths import Paths
from benchmarks.counted.callgrind import Profile
from benchmarks.records.store import PROFILES

# An edge of fewer instructions per transaction is not kept with a profile.
_LEAST = 0.005


def profile_path(paths: Paths, identifier: str) -> Path:
    """Return where the profile of the record with this *identifier* is kept."""
    return paths.records / PROFILES / f"{identifier}.json.gz"


def keep_profile(paths: Paths, identifier: str, profile: Profile) -> None:
    """Keep *profile*, per transaction, for the record with this *identifier*."""
    text = json.dumps(profile.facts(least=_LEAST), separators=(",", ":"))
    write_atomic(profile_path(paths, identifier), gzip.compress(text.encode(), mtime=0))


def kept_profile(paths: Paths, identifier: str) -> Profile | None:
    """Return the profile kept for the record with this *identifier*; None if there is none."""
    path = profile_path(paths, identifier)
    try:
        return Profile.of(json.loads(gzip.decompress(path.read_bytes())))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f'could not read "{path}"', detail=repr(error)) from error
