"""GitHub Actions as landspeed meets it: outputs and summaries of a step, and what a log may hold.

A runner reads what a step prints: a line that begins with ``::name`` or holds ``##[name]`` is a
command to it. Subjects of commits and names of branches are printed, and are anyone's to choose,
so under Actions nothing that landspeed prints can be such a line. See "Workflow commands" in
https://docs.github.com/actions/reference/workflow-commands-for-github-actions

GitHub's own ``::stop-commands::TOKEN`` does not serve: a runner may read a line of stderr before
the line of stdout that stops commands, and where stdout is redirected the token would land in the
user's file instead.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO, cast

from base.errors import UsageError
from base.files import canonical_json, storage_errors

_OUTPUT, _SUMMARY = "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# A carriage return begins a line too, and a runner strips what is white before the colons; in the
# old form a command may begin anywhere.
_COMMANDS = (re.compile(r"(?:^|[\r\n])\s*:(?=:)"), re.compile(r"##(?=\[)"))
_WORD_JOINER = "\u2060"  # has no width and breaks no line: people read on as if it were not there
_SUMMARY_LIMIT = 1_000_000  # GitHub drops the summary of a step that is longer than 1 MiB


def under_actions() -> bool:
    """Whether a runner of GitHub Actions started us."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def put_outputs(values: Mapping[str, object], path: Path | None = None) -> None:
    """Append *values* to the step's outputs: text as it is, everything else as one line of JSON.

    To *path*, else where $GITHUB_OUTPUT says; nowhere if there is neither. A value can hold
    anything: it ends at a line that nobody can guess.
    """
    target = path or _told(_OUTPUT)
    if target is None:
        return
    text = ""
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise UsageError(f'"{name}" cannot be the name of an output')
        shown = value if isinstance(value, str) else canonical_json(value)
        end = f"end-{secrets.token_hex(16)}"
        text += f"{name}<<{end}\n{shown}\n{end}\n"
    _append(target, text)


def put_summary(markdown: str) -> None:
    """Append *markdown* to the step's summary, if a runner asks for one; too long a one is cut."""
    target = _told(_SUMMARY)
    if target is None:
        return
    if len(markdown) > _SUMMARY_LIMIT // 4:  # a character has at most four bytes
        markdown = markdown[: _SUMMARY_LIMIT // 4] + "\n\n… (cut: the log has all of it)"
    _append(target, markdown.rstrip("\n") + "\n\n")


def _told(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _append(path: Path, text: str) -> None:
    with storage_errors(f'write "{path}"', path), path.open("a", encoding="utf-8") as stream:
        stream.write(text)


def harmless(text: str, line: str = "") -> str:
    """*text*, after *line* on the same line, such that no line is a command to a runner.

    It looks the same: a character without width is put in where a command would begin.
    """
    whole, begin = line + text, len(line)
    ends = (match.end() for pattern in _COMMANDS for match in pattern.finditer(whole))
    for end in sorted({end for end in ends if end >= begin}, reverse=True):
        whole = whole[:end] + _WORD_JOINER + whole[end:]
    return whole[begin:]


class Harmless:
    """A stream that passes its text on to *stream*, such that none of it is a runner's command."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._line = ""  # of the line that is being written, what decides how it goes on

    def write(self, text: str) -> int:
        """Write *text*, which may be part of a line."""
        self._stream.write(harmless(text, self._line))
        line = re.split(r"[\r\n]", self._line + text)[-1]
        decided = line.strip() not in ("", ":")
        self._line = f"-{line[-2:]}" if decided else line
        return len(text)

    def isatty(self) -> bool:
        """False: a log is no terminal, even where a runner pretends to be one."""
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def print_no_commands() -> None:
    """From now on print nothing that is a command, if a runner reads it."""
    if under_actions():
        sys.stdout = cast(TextIO, Harmless(sys.stdout))
        sys.stderr = cast(TextIO, Harmless(sys.stderr))
