"""A release or commit of PostgreSQL → a clean tree: where sources come from and are kept."""

from builders.config import SourceConfig
from builders.source.inventory import ReleaseStatus
from builders.source.sources import Source, Sources

__all__ = ["ReleaseStatus", "Source", "SourceConfig", "Sources"]
