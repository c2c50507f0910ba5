"""The README is true: its commands are understood, its words are those of code and command line."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from asv.commands import make_argparser

from tests.kits.verbs import every_verb

PROJECT = Path(__file__).resolve().parents[2]
# the 21st is study: a whole experiment with its report is neither a run nor a comparison
MOST_VERBS = 21
# options that say how to answer, not what about
EVERYDAY = {
    *(
        "aa",
        "after",
        "all",
        "before",
        "deep",
        "archive",
        "bisect",
        "branch",
        "comment",
        "dry-run",
        "fix-hints",
        "fresh",
        "help",
        "if-any",
        "in",
        "json",
        "outputs",
        "port",
        "since",
        "svg",
    ),
    *("top", "version"),
}
FAST = (
    ".venv/bin/landspeed doctor",
    ".venv/bin/landspeed list",
    ".venv/bin/landspeed plan 18:bs4 --preset regular",
)


@cache
def readme() -> str:
    return (PROJECT / "README.md").read_text()


def commands() -> list[str]:
    """The command lines in the ```sh blocks of README and CONTRIBUTING, without comments."""
    text = readme() + (PROJECT / "CONTRIBUTING.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    lines = (line.partition(" #")[0].strip() for block in blocks for line in block.splitlines())
    return list(dict.fromkeys(line for line in lines if line))


def glossary() -> dict[str, str]:
    """The words of the README's glossary, each with the cell that says where it is."""
    table = readme().partition("## The words")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z][\w, ]*) \| .* \| (.*) \|$", table, re.M)
    return {word: where for words, where in rows for word in words.split(", ")}


def options() -> dict[str, set[str]]:
    """The names of all options and arguments as people type them, each with its verbs."""
    found: dict[str, set[str]] = {}
    for verb, command in every_verb().items():
        for parameter in command.params:
            name = max(parameter.opts, key=len).lstrip("-")
            found.setdefault(name, set()).add(verb)
    return found


def glossary_class(word: str, where: str) -> object:
    """What the README says is *word*: a class, or what stands for it."""
    match = re.fullmatch(r"(?:`(\w+)` in )?`([\w/]+)\.py`", where)
    assert match is not None, f'the glossary says "{where}"'
    return getattr(import_module(match[2].replace("/", ".")), match[1] or word)


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
            verb, *rest = arguments
            every_verb()[verb].make_context(verb, rest)
        case "asv":
            make_argparser()[0].parse_args(arguments)
        case _:
            pytest.fail(f'no test knows whether "{command}" is true')


@pytest.mark.parametrize("command", FAST)
def test_a_fast_command_of_the_readme_does_what_it_says(command, tmp_path, monkeypatch):
    assert command in commands()
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path))
    done = subprocess.run(
        shlex.split(command), cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_make_target_is_told_of():
    targets = re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text(), re.M)
    told = readme() + (PROJECT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets if f"make {target}" not in told] == []


def test_every_verb_is_in_the_readme_and_there_are_few():
    told = set(re.findall(r"landspeed (\w+)", "\n".join(commands())))
    assert set(every_verb()) - told == set()
    assert len(every_verb()) <= MOST_VERBS


@pytest.mark.parametrize(("word", "where"), glossary().items())
def test_a_word_of_the_glossary_is_where_the_readme_says(word, where):
    if where == "asv's":
        return
    named = glossary_class(word, where)
    if " in " not in where:
        assert isinstance(named, type)
        article = "An" if word[0] in "AEIOU" else "A"
        assert (named.__doc__ or "").startswith(f"{article} {word} ")


def test_the_command_line_speaks_the_words_of_the_glossary():
    words = {word.lower() for word in glossary()} | EVERYDAY | set(every_verb())
    for word, where in glossary().items():
        if where != "asv's" and is_dataclass(thing := glossary_class(word, where)):
            words |= {field.name.replace("_", "-") for field in fields(thing)}
    strange = {
        name: sorted(where)
        for name, where in options().items()
        if not {name, name.rstrip("s"), name.replace("-", "")} & words
    }
    assert strange == {}


def test_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\((?!https?://)([^)#]+)\)", readme())
    assert [link for link in links if not (PROJECT / link).exists()] == []
