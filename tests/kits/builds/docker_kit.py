"""A pretended docker: "containers" are processes here, which find the mounts where they are."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from base.paths import Paths
from builders.builder import Builder
from builders.docker.container import Container
from builders.docker.toolchain import Toolchain
from tests.kits.builds.buildkit import builder, programs

DOCKER = """#!{python}
import json, os, select, signal, subprocess, sys
from pathlib import Path

root = Path({root!r})
machine = json.loads((root / "machine.json").read_text())
argv = sys.argv[1:]
with (root / "calls").open("a") as calls:
    calls.write(json.dumps(argv) + "\\n")


def refuse(words, code=1):
    print(words, file=sys.stderr)
    sys.exit(code)


if machine["refuses"]:
    refuse(machine["refuses"], 125 if argv[0] == "run" else 1)
if argv[:2] == ["image", "inspect"]:
    known = machine["images"] + (root / "images").read_text().split()
    if argv[-1] not in known:
        refuse("Error: No such image: " + argv[-1])
    print("sha256:" + str(root))
if argv[0] == "build":
    if machine["build_refuses"]:
        refuse(machine["build_refuses"])
    (root / "dockerfile").write_text(sys.stdin.read())
    with (root / "images").open("a") as images:
        images.write(argv[argv.index("--tag") + 1] + "\\n")
if argv[0] == "events":
    print("oom\\n" * machine["memory_kills"], end="")
if argv[0] != "run":
    sys.exit()
if machine["run_refuses"] and "--interactive" in argv:
    refuse(machine["run_refuses"], 125)

mounts = [argv[i + 1].split(",") for i, word in enumerate(argv) if word == "--mount"]
places = [(f[2].partition("=")[2], f[1].partition("=")[2]) for f in mounts]
places.append(("/usr/local/bin:", str(root / "bin") + ":"))


def outside(text):
    for target, source in sorted(places, key=lambda p: -len(p[0])):
        text = text.replace(target, source)
    return text


command = [outside(word) for word in argv[argv.index("python3") :]]
environment = {{"PATH": str(root / "bin") + ":" + os.environ["PATH"]}}
if len(argv) - argv.index("python3") > 4:
    sys.exit(subprocess.run(command, env=environment).returncode)
worker = subprocess.Popen(
    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=environment
)
try:
    while line := sys.stdin.readline():
        if machine["dies_at"] and machine["dies_at"] in line:
            sys.exit(137)
        worker.stdin.write(outside(line).encode())
        worker.stdin.flush()
        # what is asked before the answer can only be the end of stdin
        if sys.stdin in select.select([sys.stdin, worker.stdout], [], [])[0]:
            break
        answer = json.loads(worker.stdout.readline())
        if answer["code"] and machine["memory_kills"]:
            answer["memory_kills"] = machine["memory_kills"]
        print(json.dumps(answer), flush=True)
finally:
    # as the kernel does with all that is in a container when its first process ends
    os.killpg(worker.pid, signal.SIGKILL)
"""


@dataclass(frozen=True, kw_only=True)
class PretendedDocker:
    """A machine on which ``docker`` pretends, with a pretended toolchain in its images."""

    root: Path

    @classmethod
    def at(cls, root: Path) -> PretendedDocker:
        """One below *root*; its ``bin`` holds docker and what the images hold."""
        (programs(root / "bin") / "docker").write_text(
            DOCKER.format(python=sys.executable, root=str(root))
        )
        (root / "bin" / "docker").chmod(0o755)
        (root / "bin" / "python3").symlink_to(sys.executable)
        (root / "bin" / "clang").write_text((root / "bin" / "gcc").read_text())
        (root / "bin" / "clang").chmod(0o755)
        for name in ("calls", "images"):
            (root / name).touch()
        made = cls(root=root)
        made.has()
        return made

    def has(self, **changes: Any) -> None:
        """Make the machine one that has or does *changes*."""
        machine = {
            "refuses": "",
            "build_refuses": "",
            "run_refuses": "",
            "images": ["debian:bookworm-slim"],
            "dies_at": "",
            "memory_kills": 0,
        }
        (self.root / "machine.json").write_text(json.dumps(machine | changes))

    def calls(self, verb: str) -> list[list[str]]:
        """The arguments of every ``docker *verb*`` so far."""
        calls = map(json.loads, (self.root / "calls").read_text().splitlines())
        return [call for call in calls if call[0] == verb]

    def container(self, paths: Paths, **limits: Any) -> Container:
        """A Container on this machine; *limits* may name other ``tools`` too."""
        given: dict[str, Any] = {"tools": Toolchain(debian="bookworm", cc="gcc-12")} | limits
        return Container(ccache=paths.ccache, jobs=4, **given)


def in_docker(docker: PretendedDocker, cache: Path, main: str = "true", **limits) -> Builder:
    """A Builder in *cache* whose Sandbox is a Container."""
    host = builder(cache, main=main)
    return replace(host, sandbox=docker.container(host.paths, **limits))
