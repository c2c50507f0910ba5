"""A release or commit of PostgreSQL → a clean tree: where sources come from and are kept.

Start at ``sources.Sources``.
"""

from builders.config import SourceConfig
from builders.source.difference import Change, ChangeKind
from builders.source.fetch import ReleaseStatus
from builders.source.history import Position
from builders.source.sources import Source, Sources

__all__ = ["Change", "ChangeKind", "Position", "ReleaseStatus", "Source", "SourceConfig", "Sources"]
