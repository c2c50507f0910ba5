"""Real containers: one release built in one, and what only a real kernel can show.

Starts a Docker daemon for the tests where none answers, and stops it at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import BuildError
from base.files import locked
from base.paths import Paths
from base.version import Version
from builders.docker.container import Container
from builders.docker.toolchain import Toolchain, toolchain_named
from builders.recipe import BuildStep, Recipe
from builders.recipe_table import BuildSystem
from builders.sandbox import Progress
from landspeed.session.session import Session
from tests.conftest import CHECKOUT, program
from tests.kits.builds.buildkit import ended, eventually, forked
from tests.kits.places import SCRATCH

pytestmark = [pytest.mark.docker, pytest.mark.postgres]

CHEAPEST = "13"
SAME_SERVER = ("cc", "ld", "bison", "flex", "libc", "machine")


def answers() -> bool:
    return docker("version").returncode == 0


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def daemon() -> Iterator[None]:
    """A Docker daemon that answers: the one there is, or one of our own until the last test."""
    if shutil.which("docker") is None:
        pytest.skip("docker is not installed (tools/setup --test does it)")
    if answers():
        yield
        return
    path = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin")
    if path is None or os.geteuid() != 0:
        pytest.skip("no Docker daemon answers, and only root with dockerd can start one")
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [path], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            eventually(lambda: answers() or process.poll() is not None, "dockerd")
            if process.poll() is not None:
                log.seek(0)
                pytest.skip(f"dockerd cannot start here: {log.read().strip().splitlines()[-1]}")
            yield
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture(scope="module")
def tools(daemon: None) -> Toolchain:
    """The default toolchain, whose base is made where it is not here and no registry has it."""
    chosen = toolchain_named(None)
    base = chosen.base_image
    if docker("image", "inspect", base).returncode and docker("pull", base).returncode:
        subprocess.run(["make", "docker-base", f"DEBIAN={chosen.debian}"], cwd=CHECKOUT, check=True)
    return chosen


@pytest.fixture(scope="module")
def container(tools: Toolchain) -> Container:
    paths = Paths.find()
    return Container(tools=tools, ccache=paths.ccache, jobs=2)


class Site:
    """Where steps are run in a real container."""

    def __init__(self, *, container: Container, root: Path) -> None:
        self.container, self.root = container, root
        self.source, self.stage, self.log = root / "tree", root / "stage", root / "build.log"

    def run(self, *scripts: str, see: Callable[[Progress], None] = lambda _: None, **limits) -> str:
        """What the steps said, each a shell script of *scripts*."""
        steps = tuple(BuildStep(name=s.split()[0], argv=("sh", "-c", s)) for s in scripts)
        plan = Recipe(
            version=Version.parse("13.16"),
            variant=Variant(),
            system=BuildSystem.CONFIGURE,
            quirks=(),
            steps=steps,
            prefix="/opt/pgsql",
        )
        with locked(self.root / "lock") as held:
            self.spent = replace(self.container, **limits).run(
                plan,
                source=self.source,
                stage=self.stage,
                log=self.log,
                progress=see,
                lock=held,
            )
        said = self.log.read_text().splitlines()
        return "\n".join(line for line in said if not line.startswith(("#", "$")))


@pytest.fixture
def site(container: Container) -> Iterator[Site]:
    # not pytest's own directory: another user than root has to get there
    with tempfile.TemporaryDirectory(prefix="landspeed-test-", dir=SCRATCH) as name:
        made = Site(container=replace(container, ccache=Path(name) / "ccache"), root=Path(name))
        made.source.mkdir()
        yield made


def containers() -> list[str]:
    """The names of our containers, running or not."""
    return docker("ps", "--all", "--quiet", "--filter", "name=^landspeed-").stdout.split()


# --- containers ----------------------------------------------------------------------------


def test_the_source_cannot_be_written_and_the_copy_can(site):
    (site.source / "a.c").write_text("int a;\n")
    said = site.run("touch /landspeed/source/b.c || echo refused", "echo more >> a.c; cat a.c")
    assert "Read-only file system" in said
    assert said.splitlines()[-3:] == ["refused", "int a;", "more"]
    assert (site.source / "a.c").read_text() == "int a;\n"


def test_what_it_leaves_belongs_to_the_caller_and_it_has_no_network(site, monkeypatch):
    # somebody else calls, and so owns what was made for the container
    for name in ("getuid", "getgid"):
        monkeypatch.setattr(f"os.{name}", lambda: 12345)
    site.root.chmod(0o755)

    def give_away(progress: Progress) -> None:
        for path in (site.root / "tree.tree", site.stage, site.log):
            os.chown(path, 12345, 12345)

    said = site.run("id -u; id -g; ls /sys/class/net; touch /landspeed/stage/made", see=give_away)
    assert said.splitlines() == ["12345", "12345", "lo"]
    assert (site.stage / "made").stat().st_uid == 12345


def test_cpu_seconds_are_those_of_the_steps_and_the_limits_are_the_kernels(site):
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    counters = "/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max"
    said = site.run(
        f'python3 -c "{burn}"', f"cat {counters} 2>/dev/null; true", memory=2**28, cpus=1
    )
    assert 0.5 <= site.spent < 2
    assert str(2**28) in said.splitlines()


def test_a_process_killed_for_memory_is_one_clear_error(site):
    with pytest.raises(BuildError) as caught:
        site.run("python3 -c 'bytearray(10**9)'", memory=64 * 2**20)
    assert "killed for memory (--memory 64m)" in caught.value.hint


def test_a_container_that_is_killed_is_one_clear_error_and_is_gone(site):
    def kill(progress: Progress) -> None:
        if progress.step == "sleep" and containers():
            docker("kill", *containers())

    with pytest.raises(BuildError) as caught:
        site.run("sleep 600", see=kill)
    assert "ended with exit code 137" in caught.value.detail
    assert "not by the kernel for memory" in caught.value.hint
    assert containers() == []


def test_the_container_of_a_killed_landspeed_ends_and_lets_the_lock_go(site):
    with forked(lambda: site.run("touch started; sleep 600")) as pid:
        eventually((site.root / "tree.tree" / "started").exists, "the step")
        os.kill(pid, signal.SIGKILL)
        ended(pid)
    with locked(site.root / "lock"):
        assert containers() == []


# --- a release -----------------------------------------------------------------------------


def test_a_release_built_in_docker_runs_here_and_is_the_server_the_host_builds(tools, tmp_path):
    """In a store of its own, with the ccache that there is: equal toolchains give equal files."""
    host = Session()
    theirs = host.build(host.builder.sources.resolve(CHEAPEST), Variant())
    for name in ("sources.git", "ccache", "downloads"):
        (tmp_path / name).symlink_to(host.paths.cache / name)
    done = subprocess.run(
        [program("landspeed"), "build", CHEAPEST, "--in", "docker", "--memory", "2g", "--json"],
        cwd=CHECKOUT,
        env={**os.environ, "LANDSPEED_CACHE": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    (facts,) = json.loads(done.stdout)
    made = Build.load(Path(facts["prefix"]))
    assert facts["runs_here"] is True
    assert made.prefix.parent == tmp_path / "builds"
    assert made.toolchain["image"].startswith(f"landspeed-builder:{tools.name}-")
    assert (made.origin, made.variant) == (theirs.origin, theirs.variant)
    assert made.identifier != theirs.identifier
    if all(made.toolchain[key] == theirs.toolchain[key] for key in SAME_SERVER):
        assert made.digest == theirs.digest
    assert containers() == []


@pytest.fixture(scope="module")
def runner_image(tools: Toolchain) -> str:
    """The image of docker/runner.Dockerfile."""
    name = "landspeed-runner-tests"
    base = f"BASE_IMAGE={tools.base_image}"
    file = str(CHECKOUT / "docker/runner.Dockerfile")
    built = docker("build", "--file", file, "--tag", name, "--build-arg", base, str(CHECKOUT))
    assert built.returncode == 0, built.stdout + built.stderr
    return name


# stands for GitHub's runner: says what it was given, and leaves what the hook is to clean
RUNNER = """\
#!/bin/sh
echo "$* as $(id -un), JITCONFIG ${JITCONFIG-unset}"
GITHUB_EVENT_NAME=pull_request "$ACTIONS_RUNNER_HOOK_JOB_STARTED" || echo refused
GITHUB_EVENT_NAME=schedule "$ACTIONS_RUNNER_HOOK_JOB_STARTED" && echo taken
setsid sleep 600 &
touch /tmp/left "$LANDSPEED_RESULTS/kept"
"$ACTIONS_RUNNER_HOOK_JOB_COMPLETED"
wait $! 2>/dev/null || echo "ended: $?"
ls /tmp "$LANDSPEED_RESULTS"
cc --version >/dev/null && valgrind --version >/dev/null && python3 -m venv /tmp/venv && echo fit
touch /opt/landspeed/tools/runner/clean 2>/dev/null || echo "hooks are out of reach"
"""


def test_the_runner_image_takes_one_job_as_a_user_without_rights(runner_image, tmp_path):
    program = tmp_path / "run.sh"
    program.write_text(RUNNER)
    tmp_path.chmod(0o755)
    program.chmod(0o755)
    mount = f"{tmp_path}:/runner:ro"
    done = docker("run", "--rm", "--env", "JITCONFIG=abc==", "--volume", mount, runner_image)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "--jitconfig abc== as landspeed-runner, JITCONFIG unset",
        "refused",
        "taken",
        "ended: 143",
        "/tmp:",
        "",
        "/var/lib/landspeed/results:",
        "kept",
        "fit",
        "hooks are out of reach",
    ]
    assert "no configuration for this runner" in docker("run", "--rm", runner_image).stderr
