"""Which of the settings that landspeed writes real servers know, as ``--describe-config`` told."""

from __future__ import annotations

import json
from pathlib import Path

RECORDED: dict[str, list[str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
"""By version, with the date of the commit behind those that are no release."""
