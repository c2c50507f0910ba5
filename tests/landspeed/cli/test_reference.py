"""docs/cli.md is what the commands say, and what the commands say can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from landspeed.cli.reference import reference
from tests.kits.verbs import every_command

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cli.md"
COMMANDS = every_command()


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == f"{reference().rstrip()}\n", "run `make docs`"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_has_help_of_whole_sentences(words: tuple[str, ...]) -> None:
    for option in COMMANDS[words].params:
        if isinstance(option, click.Option):
            assert re.fullmatch(r"[A-Z-].*\.", option.help or "", re.S), option.name


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_example_is_understood(words: tuple[str, ...]) -> None:
    _, _, examples = (COMMANDS[words].help or "").partition("Examples:\n")
    for line in filter(str.strip, examples.splitlines()):
        name, *rest = shlex.split(re.split(r" [>|] ", line)[0].strip())
        if name != "landspeed":
            continue
        path = next(path for path in reversed(COMMANDS) if list(path) == rest[: len(path)])
        if not isinstance(COMMANDS[path], click.Group):
            COMMANDS[path].make_context(" ".join(path), rest[len(path) :])
