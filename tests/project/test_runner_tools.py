"""What provisions a runner: its hooks, its registration, its unit and its container."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
TOOLS = PROJECT / "tools/runner"
# A user that has no name, and no process but ours: another one in each worker of pytest, because
# a job's end ends all processes of its user.
NOBODYS = 64123 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def run(tool: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOLS / tool), *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# --- hooks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event", ["pull_request", "pull_request_target", "workflow_run", "issue_comment", ""]
)
def test_a_job_that_others_can_start_is_refused_before_its_first_step(event):
    done = run("job-started", GITHUB_EVENT_NAME=event, HOME="/nonexistent")
    assert done.returncode == 1
    assert done.stderr.startswith("error:  this machine rejects the job\n")


def test_a_job_of_another_repository_is_refused():
    done = run(
        "job-started",
        GITHUB_EVENT_NAME="schedule",
        GITHUB_REPOSITORY="evil/landspeed",
        LANDSPEED_RUNNER_REPOSITORY="owner/landspeed",
    )
    assert done.returncode == 1
    assert "belongs to another repository" in done.stderr


def test_nothing_is_cleaned_for_a_user_that_may_be_somebody(tmp_path):
    kept = tmp_path / "workspace" / "file"
    kept.parent.mkdir()
    kept.write_text("")
    done = run("job-completed", HOME=str(tmp_path), GITHUB_WORKSPACE=str(kept.parent))
    assert done.returncode == 1
    assert re.search("there is no user|may not be the runner's own", done.stderr)
    assert kept.exists()


def as_nobody(*argv: str) -> list[str]:
    ids = (f"--reuid={NOBODYS}", f"--regid={NOBODYS}", "--clear-groups")
    return ["setpriv", *ids, *argv]


# --- registration ----------------------------------------------------------------------------


@contextmanager
def github(status: int, answer: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives every POST the same *answer*; its address, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            authorization = self.headers["Authorization"]
            asked.append({"path": self.path, "body": json.loads(body), "as": authorization})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()


def jitconfig(token: Path, address: str, *words: str) -> subprocess.CompletedProcess[str]:
    return run("jitconfig", *words, GITHUB_API_URL=address, LANDSPEED_RUNNER_TOKEN_FILE=str(token))


@pytest.fixture
def token(tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    path = tmp_path / "token"
    path.write_text("github_pat_SECRET\n")
    return path


def test_a_runner_is_registered_for_one_job_with_its_labels(token):
    answer = json.dumps({"runner": {"id": 1}, "encoded_jit_config": "abc123=="})
    with github(201, answer) as (address, asked):
        done = jitconfig(token, address, "owner/landspeed", "landspeed-bench", "bench-1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "abc123==\n"
    (request,) = asked
    assert request["path"] == "/repos/owner/landspeed/actions/runners/generate-jitconfig"
    assert request["as"] == "Bearer github_pat_SECRET"
    assert request["body"]["labels"] == ["self-hosted", "landspeed-bench", "bench-1"]
    assert request["body"]["name"]


@pytest.mark.parametrize(
    ("status", "answer"), [(403, '{"message": "Resource not accessible"}'), (201, "{}")]
)
def test_what_github_refuses_is_one_clear_error_without_the_token(token, status, answer):
    with github(status, answer) as (address, _):
        done = jitconfig(token, address, "owner/landspeed")
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(re.findall("^error:", done.stderr, re.M)) == 1
    assert "SECRET" not in done.stderr


@pytest.mark.parametrize("words", [(), ("owner",), ("o/r;id",), ("o/r", "a label"), ("o/r", '"')])
def test_what_is_no_repository_or_label_asks_nobody(token, words):
    with github(201, "{}") as (address, asked):
        done = jitconfig(token, address, *words)
    assert done.returncode == 1
    assert asked == []


def test_a_container_without_configuration_or_runner_says_so(tmp_path):
    assert "no configuration" in run("run-once").stderr
    done = run("run-once", JITCONFIG="x", LANDSPEED_RUNNER_PROGRAM=str(tmp_path))
    assert "no runner at" in done.stderr


def test_a_container_takes_one_job_and_hides_the_configuration_from_it(tmp_path):
    program, work = tmp_path / "runner", tmp_path / "work"
    program.mkdir()
    work.mkdir()
    (program / "run.sh").write_text('#!/bin/sh\necho "$* ${JITCONFIG-unset}"\n')
    (program / "run.sh").chmod(0o755)
    done = subprocess.run(
        [str(TOOLS / "run-once")],
        cwd=work,
        env={
            "PATH": os.environ["PATH"],
            "JITCONFIG": "abc==",
            "LANDSPEED_RUNNER_PROGRAM": str(program),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "--jitconfig abc== unset\n"


# --- the unit, the container, the page ---------------------------------------------------------


def test_the_unit_and_the_page_name_files_that_are_there():
    for path in (TOOLS / "landspeed-runner.service", PROJECT / "docs/runner.md"):
        for name in re.findall(r"/opt/landspeed/([\w./-]+)", path.read_text()):
            assert name.startswith(".venv/") or (PROJECT / name).exists(), f"{path.name}: {name}"


def test_the_image_has_what_setup_would_install():
    setup = (PROJECT / "tools/setup").read_text()
    packages = re.search(r"printf '%s\\n' (build-essential.*?)\n    if", setup, re.S)
    assert packages is not None
    image = (PROJECT / "docker/runner.Dockerfile").read_text()
    assert [name for name in packages[1].replace("\\", " ").split() if name not in image] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_the_unit_is_one_that_systemd_understands(tmp_path):
    unit = tmp_path / "landspeed-runner.service"
    text = (TOOLS / unit.name).read_text().replace("/opt/landspeed", str(PROJECT))
    for wrong in ("", "NoSuchPrivileges=yes\n"):
        unit.write_text(text.replace("NoNewPrivileges=yes\n", f"NoNewPrivileges=yes\n{wrong}"))
        argv = ["systemd-analyze", "verify", "--man=no", str(unit)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        # what it does not know it only tells of
        assert ("Unknown key" in done.stderr) == bool(wrong), done.stderr


TRY_THE_WAY_OUT = """
import errno, socket
for where in ("127.0.0.1", "192.0.2.2", "fd00::2"):
    with socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET) as one:
        one.settimeout(1)
        try:
            one.connect((where, 9))
        except TimeoutError:
            print(where, "is silent")
        except OSError as error:
            print(where, errno.errorcode[error.errno])
"""


# What a socket that was closed still has to send belongs to no user.
SEND_AND_CLOSE = """
import socket, subprocess, sys
here = socket.create_server(("fd00::1", 80), family=socket.AF_INET6)
here.settimeout(30)
count = "import socket; s = socket.create_connection(('fd00::1', 80)); n = 0\\n"
count += "while part := s.recv(1 << 16): n += len(part)\\nprint(n)"
argv = ["nsenter", "--target", sys.argv[1], "--net", sys.executable, "-c", count]
reader = subprocess.Popen(argv)
one, _ = here.accept()
one.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE: all of it is the kernel's
one.sendall(bytes(6_500_000))
one.close()
reader.wait(60)
"""


def has_networks_of_its_own() -> bool:
    argv = ["unshare", "--net", "ip", "link", "add", "out", "type", "veth", "peer", "name", "in"]
    programs = all(shutil.which(name) for name in ("nft", "unshare", "ip", "setpriv"))
    return programs and subprocess.run(argv, capture_output=True, check=False).returncode == 0


def test_the_runners_user_reaches_this_machine_and_nothing_else_and_root_everything(tmp_path):
    """In a network of its own, with the rules as they are, but for the user's number."""
    if os.geteuid() != 0 or not has_networks_of_its_own():
        pytest.skip("takes root, nft, ip and networks of one's own")
    rules = tmp_path / "egress.nft"
    text = (TOOLS / "egress.nft").read_text()
    assert text.count('"landspeed-runner"') == 1
    rules.write_text(text.replace('"landspeed-runner"', str(NOBODYS)))
    there = [*("ip link set lo up", "ip link add out type veth peer name in")]
    there += ["ip addr add 192.0.2.1/24 dev out", "ip addr add fd00::1/64 dev out nodad"]
    # a neighbour that has IPv6: who looks for it sends packets that belong to no socket
    there += ["unshare --net sleep 60 & peer=$!", "trap 'kill $peer' EXIT"]
    there += ["while [ /proc/$peer/ns/net -ef /proc/self/ns/net ]; do sleep 0.01; done"]
    there += ["ip link set in netns $peer", "ip link set out up"]
    there += ["nsenter --target $peer --net ip addr add fd00::2/64 dev in nodad"]
    there += ["nsenter --target $peer --net ip link set in up"]
    # loading it again, as at each start of the machine, is no error
    there += [f"nft --file {rules}", f"nft --file {rules}"]
    tries = ['for who; do $who /usr/bin/python3 -c "$TRY"; done']
    tries += ['/usr/bin/python3 -c "$SEND" $peer']
    script = "\n".join(["set -e", *there, *tries])
    users = [" ".join(as_nobody()), "env"]
    done = subprocess.run(
        ["unshare", "--net", "bash", "-c", script, "bash", *users],
        env={**os.environ, "TRY": TRY_THE_WAY_OUT, "SEND": SEND_AND_CLOSE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["127.0.0.1 ECONNREFUSED", "192.0.2.2 EHOSTUNREACH"]
    assert lines[2] in ("fd00::2 EACCES", "fd00::2 is silent")
    roots = ["127.0.0.1 ECONNREFUSED", "192.0.2.2 is silent", "fd00::2 ECONNREFUSED"]
    assert lines[3:] == [*roots, "6500000"]


def test_the_page_names_every_host_that_a_runner_asks_through_the_proxy():
    """Those that GitHub lists; the runner's user can reach no others.

    https://docs.github.com/actions/reference/runners/self-hosted-runners#accessible-domains-by-function
    """
    page = (PROJECT / "docs/runner.md").read_text()
    for host in ("github.com", "api.github.com", "codeload.github.com", "*.blob.core.windows.net"):
        assert f"`{host}`" in page
    for name in ("*.actions", "objects", "objects-origin", "github-releases", "release-assets"):
        assert f"`{name}.githubusercontent.com`" in page
