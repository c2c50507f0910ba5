"""A stranger's build tries to stay on the machine, and the next job looks for what it left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from base.build import Variant
from base.confinement import can_confine
from base.files import locked
from base.version import Version
from builders.recipe import BuildStep, Recipe
from builders.recipe_table import BuildSystem
from builders.sandbox import Host, inside

pytestmark = pytest.mark.skipif(not can_confine(), reason="bubblewrap is not installed or allowed")

MARK = "planted-by-a-stranger"
FOOTHOLDS = {
    "the shell's start-up file": "put $VICTIM/.bashrc",
    "the login's start-up file": "put $VICTIM/.profile",
    "git's configuration": "put $VICTIM/.gitconfig",
    "pip's configuration": "put $VICTIM/.config/pip/pip.conf",
    "ssh's keys": "put $VICTIM/.ssh/authorized_keys",
    "a unit of the user": "put $VICTIM/.config/systemd/user/x.service",
    "the compiler cache": "put $CACHE/ccache/object",
    "the compiler cache's configuration": "put $CACHE/ccache/ccache.conf",
    "another build": "put $CACHE/builds/x/postgres",
    "a build that is there": "put $CACHE/builds/kept/postgres",
    "the repository of sources": "put $CACHE/sources.git/config",
    "a hook of the repository": "put $CACHE/sources.git/hooks/x",
    "the results": "put $RESULTS/record",
    "the program of the runner": "put $VICTIM/runner/run.sh",
    "our own code": "put $OURS",
    "temporary files": "put /tmp/$MARK; put /var/tmp/$MARK",
    "shared memory": "put /dev/shm/$MARK; ipcmk -M 4242",
    "a process that stays": "setsid sleep 4242.5 >/dev/null 2>&1 &",
    "a message to a server": "exec 3<>/dev/tcp/127.0.0.1/$PORT; echo $MARK >&3",
    "the token of the job": "grep -ao 'TOKEN=[a-z-]*' /proc/[0-9]*/environ $VICTIM/.c* >stolen",
}
OF_THE_MACHINE = ("temporary files", "shared memory", "a process that stays")
PUT = 'put() { mkdir -p "$(dirname "$1")"; echo "$MARK" >>"$1"; }'


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a home, a cache and results, whose job has a token."""
    for name in (
        "home/runner",
        "cache/ccache",
        "cache/builds/kept",
        "cache/sources.git",
        "results",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in ("home/.credentials", "home/runner/run.sh", "results/record", "ours.py"):
        (tmp_path / name).write_text("TOKEN=of-a-file\n")
    (tmp_path / "cache/trees").mkdir(mode=0o700)
    (tmp_path / "cache/builds/kept/postgres").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOME_TOKEN", "of-the-job")
    return tmp_path


@pytest.fixture
def server() -> Iterator[tuple[int, list[bytes]]]:
    """A server on this machine, and what it was told."""
    told: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    told.append(listening.accept()[0].recv(100))
                except OSError:
                    return

        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1], told


def build(machine: Path, sandbox: Host, configure: str, name: str) -> tuple[Path, str]:
    """Run the script *configure* as the only step of a build; the tree and the log."""
    tree, log = machine / f"cache/trees/{name}", machine / "cache/logs" / f"{name}.log"
    tree.mkdir(parents=True)
    (tree / "configure").write_text(configure)
    recipe = Recipe(
        version=Version.parse("13.16"),
        variant=Variant(),
        system=BuildSystem.CONFIGURE,
        quirks=(),
        steps=(BuildStep(name="configure", argv=("bash", "configure")),),
        prefix="/opt/pgsql",
    )
    with locked(machine / "lock") as held:
        sandbox.run(
            recipe,
            source=tree,
            stage=machine / f"cache/trees/{name}.stage",
            log=log,
            progress=lambda _: None,
            lock=held,
        )
    return tree, log.read_text()


def traces(machine: Path, tree: Path, told: list[bytes]) -> list[str]:
    """Everything of the build that the next job could find."""
    places = [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    found = [str(place / MARK) for place in places if (place / MARK).exists()]
    for path in machine.rglob("*"):
        if path.is_file() and not path.is_relative_to(tree) and MARK in path.read_text():
            found.append(str(path))
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    found += [line for line in processes.stdout.splitlines() if line == "sleep 4242.5"]
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    found += [line for line in segments if line.split()[3] == "4242"]
    stolen = tree / "stolen"
    found += stolen.read_text().splitlines() if stolen.exists() else []
    return found + [one.decode() for one in told]


def attack(machine: Path, port: int, footholds: Iterable[str]) -> str:
    """A configure script that tries *footholds*, each in a shell of its own."""
    known = {"VICTIM": "home", "CACHE": "cache", "RESULTS": "results", "OURS": "ours.py"}
    names = [f"{name}={machine / path}" for name, path in known.items()]
    tries = [f"({FOOTHOLDS[one]})" for one in footholds]
    return "\n".join([f"MARK={MARK} PORT={port}", *names, PUT, *tries, "true"])


def test_a_strangers_build_finds_none_of_twenty_footholds(machine, server):
    port, told = server
    assert len(FOOTHOLDS) == 20
    sandbox = Host(ccache=machine / "cache/ccache", jobs=1, for_strangers=True)
    tree, _ = build(machine, sandbox, attack(machine, port, FOOTHOLDS), "patch")
    assert traces(machine, tree, told) == []


def test_each_foothold_is_one_without_the_sandbox(machine, server):
    """Else the test above proves nothing. What would stay on this machine itself is left out."""
    port, told = server
    some = [name for name in FOOTHOLDS if name not in OF_THE_MACHINE]
    plain = Host(ccache=machine / "cache/ccache", jobs=1)
    tree, _ = build(machine, plain, attack(machine, port, some), "patch")
    assert len(traces(machine, tree, told)) >= len(some)


def test_a_strangers_build_finds_our_own_modules_in_a_checkout_below_home(machine, monkeypatch):
    project = Path(inside.__file__).parents[2]
    monkeypatch.setenv("HOME", str(project))
    sandbox = Host(ccache=machine / "cache/ccache", jobs=1, for_strangers=True)
    script = "import builders.meson_prune as it; print(it.__file__)"
    python = f"PYTHONPATH={project} {sys.executable} -c '{script}'"
    _, log = build(machine, sandbox, python, "patch")
    assert f"{project}/builders/meson_prune.py" in log


def test_a_strangers_build_is_done_where_it_may_write_and_ends_with_us(machine):
    sandbox = Host(ccache=machine / "cache/ccache", jobs=1, for_strangers=True)
    script = 'echo "$CCACHE_READONLY $$" >made; mkdir -p ../patch.stage/opt; id -u'
    tree, log = build(machine, sandbox, script, "patch")
    assert (tree / "made").read_text().startswith("1 ")
    assert (machine / "cache/trees/patch.stage/opt").is_dir()
    assert f"\n{os.geteuid()}\n" in log
