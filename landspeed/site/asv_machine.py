"""Register this machine with asv, in ~/.asv-machine.json.

``asv machine --yes`` with a name stores only the name. Every field is part of a graph's path, so
all six are written here, from the same facts as the raw records.
"""

from __future__ import annotations

import sys

from asv.machine import Machine as AsvMachine
from asv.machine import MachineCollection
from asv.util import UserError

from base.errors import StorageError
from benchmarks.machine.machine import Machine
from landspeed.results.points import asv_fields


def register() -> str:
    """Register this machine with asv and return a message; StorageError if that fails.

    A complete entry is kept even where it differs, because changing a field would start new
    lines on the site.
    """
    machine = Machine.detect()
    if set(_known(machine.name)) >= {name for name, _ in AsvMachine.fields}:
        return f'asv knows this machine as "{machine.name}"'
    path = MachineCollection.get_machine_file_path()
    try:
        MachineCollection.save(machine.name, asv_fields(machine.name, vars(machine)))
    except (OSError, UserError) as error:
        raise StorageError(
            "could not register this machine with asv",
            detail=f"{path}: {error}",
            hint="Fix or remove that file, or set HOME to a writable directory.",
        ) from error
    return f'registered this machine with asv as "{machine.name}" in {path}'


def _known(name: str) -> dict[str, str]:
    try:
        known: dict[str, str] = MachineCollection.load(name)
    except UserError:
        return {}
    # If asv knows a single machine, it returns that one for an unknown host name.
    return known if known.get("machine") == name else {}


if __name__ == "__main__":
    try:
        print(f"setup: {register()}", file=sys.stderr)
    except StorageError as failure:
        print(failure, file=sys.stderr)
        sys.exit(failure.exit_code)
