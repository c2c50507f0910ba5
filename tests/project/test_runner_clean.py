"""A job leaves what it can on a runner, and the next one finds none of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.test_runner_tools import NOBODYS, TOOLS, as_nobody

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="becomes another user, which takes root and setpriv",
)


@pytest.fixture
def runner() -> Iterator[Path]:
    """A machine of a runner: its home with the runner in it, results, and its program."""
    root = Path("/var/tmp") / f"landspeed-hooks-{os.getpid()}"
    workspace = root / "home/runner/_work/landspeed"
    for directory in (workspace, root / "results", root / "program"):
        directory.mkdir(parents=True)
    root.chmod(0o755)
    for name in (".landspeed-runner", "results/record", "program/run.sh", "home/runner/run.sh"):
        (root / name).write_text("as it was")
    shutil.copytree(TOOLS, root / "tools")
    for path in (root / "home", *(root / "home").rglob("*"), root / "results"):
        os.chown(path, NOBODYS, NOBODYS)
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def environment(root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root / "home"),
        "GITHUB_EVENT_NAME": "schedule",
        "GITHUB_WORKSPACE": str(root / "home/runner/_work/landspeed"),
        "LANDSPEED_RESULTS": str(root / "results"),
        "LANDSPEED_RUNNER_USER": str(NOBODYS),
        "LANDSPEED_RUNNER_PROGRAM": str(root / "program"),
        "LANDSPEED_RUNNER_PATIENCE": "0.2",
    }


def nobody_runs(root: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        as_nobody("bash", "-c", script),
        env=environment(root),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_root
def test_what_a_job_left_is_gone_after_it_and_the_runner_and_what_landspeed_keeps_stay(runner):
    workspace, stray = runner / "home/runner/_work/landspeed", Path(f"/tmp/{runner.name}")
    left = subprocess.Popen(as_nobody("sleep", "600"), start_new_session=True)
    # a directory that nobody may enter is no reason to fail
    nobody_runs(
        runner, f"mkdir {stray}; cd $GITHUB_WORKSPACE; mkdir -p a/b; touch a/b/c; chmod 0 a"
    )
    # the runner's part: it starts the hook, and is to be there afterwards
    done = nobody_runs(runner, f'"{runner}/tools/job-completed" && echo "the runner goes on"')
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the runner goes on\n"
    assert left.wait(timeout=10) == -signal.SIGTERM
    assert f"ending processes that a job left: {left.pid}" in done.stderr
    assert list(workspace.iterdir()) == []
    assert not stray.exists()
    assert (runner / "results/record").exists()


@needs_root
@pytest.mark.parametrize("place", ["landspeed", "."])
def test_a_workspace_that_became_a_symlink_is_one_no_more_and_what_it_led_to_stays(runner, place):
    lost = "cd $GITHUB_WORKSPACE/..; p=$(realpath $p); cd /; rm -rf $p; ln -s $LANDSPEED_RESULTS $p"
    assert nobody_runs(runner, f"p={place}; {lost}").returncode == 0
    done = nobody_runs(runner, f"{runner}/tools/job-started")
    assert done.returncode == 0, done.stderr
    workspace = runner / "home/runner/_work/landspeed"
    assert workspace.resolve() == workspace
    assert list(workspace.iterdir()) == []
    assert (runner / "results/record").exists()


# Where a job can leave something for the next one: a command that does, and what to look for.
FOOTHOLDS = {
    **{
        name: (f"mkdir -p $(dirname ~/{name}); echo evil >>~/{name}", f"home/{name}")
        for name in (
            *(".bashrc", ".profile", ".bash_logout", ".gitconfig", ".config/git/config", ".netrc"),
            *(".config/pip/pip.conf", ".pip/pip.conf", ".local/bin/git", ".ssh/config", ".npmrc"),
            *(".local/lib/python3.11/site-packages/evil.pth", ".config/systemd/user/evil.service"),
            *(".ccache/ccache.conf", "runner/run.sh", "runner/_work/_actions/checkout/evil.js"),
        )
    },
    "temporary files": ("echo evil >/tmp/$N; mkdir -m 0 /var/tmp/$N", "/tmp/$N /var/tmp/$N"),
    "shared memory": ("mkdir -p /dev/shm/$N/a; chmod 0 /dev/shm/$N; ipcmk -M 4242", "/dev/shm/$N"),
    "a process": ("setsid sleep 4242.7 >/dev/null 2>&1 &", ""),
    "no way in": ("mkdir -p ~/x/y; chmod 0 ~/x; chmod 0 $GITHUB_WORKSPACE; chmod 0 ~", ""),
}


@needs_root
def test_of_twenty_footholds_of_a_job_the_next_one_finds_none(runner):
    assert len(FOOTHOLDS) == 20
    name = f"evil-{os.getpid()}"
    tries = "\n".join(f"({command})" for command, _ in FOOTHOLDS.values())
    nobody_runs(runner, f"N={name}\n{tries}\ntrue")
    assert (runner / "home/.gitconfig").exists()
    tool = runner / "tools/clean"  # as landspeed-runner.service starts it
    given = environment(runner) | {"LANDSPEED_RUNNER_USER": name}
    given["PATH"] = f"{named(runner, name)}:{given['PATH']}"
    done = subprocess.run([tool], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    traces = [
        text.replace("$N", name) for _, places in FOOTHOLDS.values() for text in places.split()
    ]
    traces.remove("home/runner/run.sh")
    assert [text for text in traces if (runner / text).exists()] == []
    assert (runner / "home/runner/run.sh").read_text() == "as it was"
    assert sorted(path.name for path in (runner / "home").rglob("*")) == ["run.sh", "runner"]
    processes = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True)
    assert "sleep 4242.7" not in processes.stdout.splitlines()
    shared = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert [line for line in shared if line.split()[3] == "4242"] == []
    assert nobody_runs(runner, f"{runner}/tools/job-started").returncode == 0


def named(root: Path, name: str) -> Path:
    """A directory with an "id" that knows our nameless user as *name*."""
    programs = root / "bin"
    programs.mkdir()
    (programs / "id").write_text(
        f'#!/bin/sh\n[ "$*" = "-u {name}" ] && echo {NOBODYS} || exec /usr/bin/id "$@"\n'
    )
    (programs / "id").chmod(0o755)
    return programs


@needs_root
def test_what_is_kept_is_not_in_the_home_that_is_removed(runner):
    done = subprocess.run(
        as_nobody(f"{runner}/tools/clean"),
        env=environment(runner) | {"LANDSPEED_CACHE": str(runner / "home/cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "is in the home of the runner" in done.stderr
    assert (runner / "home/runner/run.sh").exists()


def test_the_unit_makes_the_home_anew_as_root_before_and_after_each_job():
    unit = (TOOLS / "landspeed-runner.service").read_text()
    for key in ("ExecStartPre", "ExecStopPost"):
        assert f"\n{key}=+/opt/landspeed/tools/runner/clean\n" in unit
    assert 'cd "$HOME/runner"' in unit
    assert "/opt/actions-runner" not in unit  # root's, and nobody else writes there
    assert "\nProtectKernelTunables" not in unit  # bubblewrap could not mount a /proc
