"""The commands in README, CONTRIBUTING and docs are understood, and their links lead somewhere."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import click
import pytest
from asv.commands import make_argparser

from tests.kits.verbs import every_verb

PROJECT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/tour.md", "docs/variants.md")
MOST_VERBS = 21
FAST = (
    ".venv/bin/landspeed doctor",
    ".venv/bin/landspeed list",
    ".venv/bin/landspeed plan 18:bs4 --preset regular",
)


@cache
def text_of(page: str) -> str:
    return (PROJECT / page).read_text()


def every_page() -> list[str]:
    """README, CONTRIBUTING and all of docs."""
    return [*PAGES[:2], *(f"docs/{path.name}" for path in sorted((PROJECT / "docs").glob("*.md")))]


def commands() -> list[str]:
    """The command lines in the ```sh blocks of all pages, without comments."""
    blocks = [
        block
        for page in PAGES
        for block in re.findall(r"^```sh\n(.*?)^```", text_of(page), re.M | re.S)
    ]
    lines = (line.partition(" #")[0].strip() for block in blocks for line in block.splitlines())
    return list(dict.fromkeys(line for line in lines if line))


def mentions() -> list[str]:
    """The commands of landspeed that any page mentions in its prose or its blocks."""
    found: dict[str, None] = {}
    for page in (
        *PAGES,
        *(f"docs/{path.name}" for path in sorted((PROJECT / "docs").glob("*.md"))),
    ):
        text = text_of(page)
        spans = re.findall(r"`(landspeed [^`]+)`", text)
        blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S))
        lines = re.findall(r"^(?:\S*/)?(landspeed [a-z][^#>|\n]+)", blocks, re.M)
        found |= dict.fromkeys(" ".join(span.split()) for span in (*spans, *lines))
    # VERB, N and … stand for what the reader puts there
    return [re.sub(r"\bN\b|…", "1", span) for span in found if "VERB" not in span]


def understand(words: list[str]) -> None:
    """Have the parser of the verb, or of the verb inside a group of verbs, read *words*."""
    name, *rest = words
    command = every_verb()[name]
    while isinstance(command, click.Group):
        name, *rest = rest
        inner = command.get_command(click.Context(command), name)
        assert inner is not None, f'"{" ".join(words)}" names no verb'
        command = inner
    command.make_context(name, rest)


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_readme_is_understood(command):
    program, *arguments = shlex.split(command)
    match Path(program).name:
        case "make":
            done = subprocess.run(
                ["make", "--dry-run", *arguments], cwd=PROJECT, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr.decode()
        case "landspeed":
            understand(arguments)
        case "asv":
            make_argparser()[0].parse_args(arguments)
        case _:
            pytest.fail(f'no test knows whether "{command}" is true')


@pytest.mark.parametrize("command", mentions())
def test_a_command_that_a_page_mentions_is_understood(command):
    # "landspeed run" in a sentence names the verb and need not be complete
    with contextlib.suppress(click.MissingParameter):
        understand(shlex.split(command)[1:])


@pytest.mark.parametrize("command", FAST)
def test_a_fast_command_of_the_readme_does_what_it_says(command, tmp_path, monkeypatch):
    assert command in commands()
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path))
    done = subprocess.run(
        shlex.split(command), cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_make_target_is_documented():
    targets = re.findall(r"^([\w-]+):", text_of("Makefile"), re.M)
    prose = "".join(map(text_of, PAGES))
    assert [target for target in targets if f"make {target}" not in prose] == []


def test_every_verb_is_documented_and_there_are_few():
    documented = set(re.findall(r"landspeed (\w+)", "\n".join(commands())))
    assert set(every_verb()) - documented == set()
    assert len(every_verb()) <= MOST_VERBS


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of *page*."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", every_page())
def test_links_lead_to_files_and_their_headings(page):
    home = PROJECT / page
    links = re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)", text_of(page))
    for name, anchor in links:
        target = home.parent / name if name else home
        assert target.exists(), f"{page} links to {name}"
        assert not anchor or anchor in headings(target), f"{page} links to {name}#{anchor}"
