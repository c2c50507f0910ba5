"""``landspeed``, every verb, on made-up servers: what workflows call in tests.

The world is told by the file $LANDSPEED_TEST_WORLD (JSON: the fields of a `Pretence`); the sources
are real. It is a file because act would evaluate an expression in a variable.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from base.build import Build
from landspeed.cli.main import main as landspeed
from landspeed.session.session import Session
from landspeed.session.target import Target
from tests.kits.made_up.bisect_project import Pretence, pretend

CHECKOUT = Path(__file__).resolve().parents[3]


def command() -> list[str]:
    """The command that is this program."""
    return [
        "env",
        f"PYTHONPATH={CHECKOUT}",
        sys.executable,
        "-m",
        "tests.kits.farm.pretended_landspeed",
    ]


def main() -> None:
    """``landspeed`` in the world that the environment tells of."""

    def build_all(self: Session, targets: Sequence[Target], **_: Any) -> dict[Target, Build]:
        resolve = self.builder.sources.resolve
        return {target: self.build(resolve(target.ref), target.variant) for target in targets}

    told = Path(os.environ["LANDSPEED_TEST_WORLD"])
    pretend(Pretence(**json.loads(told.read_text())), setattr)
    Session.build_all = build_all
    landspeed()


if __name__ == "__main__":
    main()
