"""The verbs of the command line, which imports each only when somebody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import click

from landspeed.cli.main import cli, main

CONTEXT = click.Context(cli, info_name="landspeed")


def every_verb() -> dict[str, click.Command]:
    """All verbs by name; from then on none has anything left to import."""
    return {path[0]: command for path, command in every_command().items() if len(path) == 1}


def every_command() -> dict[tuple[str, ...], click.Command]:
    """All commands, those inside groups too, by the words that name them: ("farm", "plan")."""
    found: dict[tuple[str, ...], click.Command] = {}
    pending: list[tuple[tuple[str, ...], click.Group]] = [((), cli)]
    while pending:
        path, group = pending.pop(0)
        for name in group.list_commands(CONTEXT):
            command = group.get_command(CONTEXT, name)
            assert command is not None, f"{name} is listed, but no such command exists"
            found[*path, name] = command
            if isinstance(command, click.Group):
                pending.append(((*path, name), command))
    return found


def called(
    arguments: Sequence[str], environment: Mapping[str, str], directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``landspeed *arguments`` in a copy of this process: most of a verb is Python's start."""
    every_verb()  # imported once, not in every copy
    with TemporaryFile() as out, TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                os.chdir(directory or Path.cwd())
                os.environ.clear()
                os.environ.update(environment)
                sys.argv = ["landspeed", *arguments]
                code = _main()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(arguments, code, *texts)


def _main() -> int:
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
