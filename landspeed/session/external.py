"""What ``landspeed build --from`` does: somebody else's server becomes a Build by its pg_config."""

from __future__ import annotations

from dataclasses import replace

from base.build import Build
from benchmarks.smoke import built_variant
from builders.external import inspect
from landspeed.session.session import Session


def register(session: Session, pg_config: str, name: str | None) -> Build:
    """The Build of *pg_config*'s server, kept under *name*, by default its version.

    Its block sizes are those of a cluster it makes, which is thrown away.
    """
    found = inspect(pg_config, name)
    variant = built_variant(found, session.paths)
    return session.external_servers.put(replace(found, variant=variant))
