"""This machine, as asv knows it: an entry in ~/.asv-machine.json.

``asv machine --yes`` with a name stores the name alone, and every field is in a
graph's path: so all six are written here, from the same facts as the raw records.
"""

from __future__ import annotations

import sys

from asv.machine import Machine as AsvMachine
from asv.machine import MachineCollection
from asv.util import UserError

from base.errors import StorageError
from benchmarks.machine.machine import Machine


def asv_fields(machine: Machine) -> dict[str, str]:
    """The six fields of asv's machine.json for *machine*; memory in bytes, all as text."""
    return {
        "machine": machine.name,
        "os": machine.os,
        "arch": machine.arch,
        "cpu": machine.cpu,
        "num_cpu": str(machine.cores),
        "ram": str(machine.memory_bytes),
    }


def register() -> str:
    """Make this machine known to asv, and say whether it was; StorageError if that fails.

    A complete entry is kept as it is, even where it differs: changing a field would
    start new lines on the site.
    """
    machine = Machine.detect()
    if set(_known(machine.name)) >= {name for name, _ in AsvMachine.fields}:
        return f'asv knows this machine as "{machine.name}"'
    path = MachineCollection.get_machine_file_path()
    try:
        MachineCollection.save(machine.name, asv_fields(machine))
    except (OSError, UserError) as error:
        raise StorageError(
            "could not make this machine known to asv",
            detail=f"{path}: {error}",
            hint="Mend or remove that file, or set HOME to a directory that can be written.",
        ) from error
    return f'registered this machine with asv as "{machine.name}" in {path}'


def _known(name: str) -> dict[str, str]:
    try:
        known: dict[str, str] = MachineCollection.load(name)
    except UserError:
        return {}
    # asv answers for an unknown host name with the only machine it knows, if there is one
    return known if known.get("machine") == name else {}


if __name__ == "__main__":
    try:
        print(f"setup: {register()}", file=sys.stderr)
    except StorageError as failure:
        print(failure, file=sys.stderr)
        sys.exit(failure.exit_code)
