"""The results branch: unions both ways, races that are lost, kills, and what is not ours there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from base.errors import RemoteError, UsageError
from base.paths import Paths
from landspeed.farm.merge import damaged_files, is_result, result_files
from landspeed.farm.remote import Remote
from landspeed.farm.results_branch import ResultsBranch
from tests.kits.farm.farmer_kit import Farmer, farmer, git, remote
from tests.kits.made_up.results_kit import one_of_each, write_journal

__all__ = ["farmer", "remote"]  # fixtures

pytestmark = pytest.mark.slow


def journal(farmer: Farmer, events: int) -> Path:
    return write_journal(farmer.paths.results, [1.0] * events)


def test_a_branch_that_is_not_there_has_nothing_and_the_first_push_makes_it(farmer, remote):
    one = farmer("one")
    assert one.branch.fetch() == 0
    one.measure(3)
    assert one.branch.push() == 1
    names = git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "results").splitlines()
    assert [name.split("/")[:3] for name in names] == [["records", "segments", "one"]]


def test_results_of_two_machines_meet_on_the_branch(farmer):
    one, two = farmer("one"), farmer("two")
    one.measure(3)
    two.measure(4)
    one.branch.push()
    two.branch.push()
    assert one.branch.fetch() == 1
    assert one.count == two.count == 7
    assert one.store.table(["id"]).num_rows == 7


def test_nothing_new_is_not_a_commit(farmer, remote):
    one = farmer("one")
    one.measure(1)
    one.branch.push()
    before = git("--git-dir", str(remote), "rev-parse", "results")
    assert one.branch.push() == 0
    assert git("--git-dir", str(remote), "rev-parse", "results") == before


def test_notes_profiles_and_journals_come_along_and_caches_and_locks_do_not(farmer):
    one, two = farmer("one"), farmer("two")
    one_of_each(one.paths.results)
    one.store.table()
    assert one.branch.push() == 7
    two.branch.fetch()
    assert list(result_files(two.paths.results)) == list(result_files(one.paths.results))


def test_of_two_journals_the_one_that_has_seen_more_stays(farmer):
    one, two = farmer("one"), farmer("two")
    journal(one, 3)
    one.branch.push()
    journal(two, 1)
    assert two.branch.push() == 0
    assert len(json.loads(journal_text(two))["events"]) == 3
    journal(two, 5)
    assert two.branch.push() == 1
    one.branch.fetch()
    assert len(json.loads(journal_text(one))["events"]) == 5


def journal_text(farmer: Farmer) -> str:
    (path,) = (farmer.paths.results / "bisect").glob("*.json")
    return path.read_text()


def test_who_loses_a_race_fetches_and_pushes_again(farmer, monkeypatch, capsys):
    one, two = farmer("one"), farmer("two")
    one.measure(2)
    two.measure(2)
    send = ResultsBranch._send

    def late(self: ResultsBranch, commit: str) -> None:
        if self is one.branch and not one.waited:
            two.branch.push()
        send(self, commit)

    monkeypatch.setattr(ResultsBranch, "_send", late)
    assert one.branch.push() == 1
    assert len(one.waited) == 1
    assert "another machine pushed" in capsys.readouterr().err
    third = farmer("three")
    third.branch.fetch()
    assert third.count == 4


def test_who_loses_every_race_says_so_and_loses_nothing(farmer, monkeypatch):
    one, two = farmer("one"), farmer("two")
    one.measure(1)
    send = ResultsBranch._send

    def always_late(self: ResultsBranch, commit: str) -> None:
        if self is one.branch:
            two.measure(1, first=two.count)
            two.branch.push()
        send(self, commit)

    monkeypatch.setattr(ResultsBranch, "_send", always_late)
    with pytest.raises(RemoteError, match="failed after 8 attempts"):
        one.branch.push()
    monkeypatch.undo()
    assert one.branch.push() == 1
    assert max(one.waited) > 2 * min(one.waited)


def test_eight_machines_that_push_at_once_lose_nothing(farmer, tmp_path, remote):
    script = (
        "import sys; from pathlib import Path; from tests.kits.farm.farmer_kit import Farmer\n"
        "one = Farmer(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])\n"
        "import time; object.__setattr__(one.branch, 'pause', time.sleep)\n"
        "one.measure(3); one.branch.push()\n"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(remote), f"m{number}"])
        for number in range(8)
    ]
    assert [racer.wait() for racer in racers] == [0] * 8
    last = farmer("last")
    last.branch.fetch()
    assert last.count == 24
    commits = git("--git-dir", str(remote), "log", "--format=%h %p", "results").splitlines()
    assert sorted(len(one.split()) for one in commits) == [1, *[2] * 7]


def test_a_branch_that_was_rewritten_meanwhile_is_taken_as_it_is_and_gets_what_it_lacks(
    farmer, remote
):
    one, two = farmer("one"), farmer("two")
    one.measure(2)
    one.branch.push()
    git("--git-dir", str(remote), "update-ref", "-d", "refs/heads/results")
    two.measure(1)
    two.branch.push()
    assert one.branch.push() == 1
    assert one.count == 3


def test_a_push_that_is_killed_leaves_the_branch_whole_and_the_next_one_does_it(
    farmer, remote, tmp_path
):
    one = farmer("one")
    one.measure(3)
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\nsleep 60\n")
    hook.chmod(0o755)
    script = (
        "import sys; from pathlib import Path; from tests.kits.farm.farmer_kit import Farmer\n"
        "Farmer(Path(sys.argv[1]), Path(sys.argv[2]), 'one').branch.push()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(remote)], start_new_session=True
    )
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    hook.unlink()
    again = farmer("one")
    assert again.branch.push() == 1
    other = farmer("other")
    other.branch.fetch()
    assert other.count == 3
    assert len(git("--git-dir", str(remote), "rev-list", "results").splitlines()) == 1


def test_a_push_that_is_refused_is_one_clear_error(farmer, remote):
    one = farmer("one")
    one.measure(1)
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho this branch is protected\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RemoteError, match=r"pushing the results .* failed") as caught:
        one.branch.push()
    assert "protected" in caught.value.detail
    assert one.waited == []


def test_another_repository_is_pushed_to_with_a_deploy_key_that_no_list_of_processes_has(
    farmer, remote, tmp_path, monkeypatch
):
    seen, programs = tmp_path / "seen", tmp_path / "bin"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(
        "#!/usr/bin/env bash\n"
        f'for word; do last=$word; [[ $word == */key ]] && stat -c "%a %n" "$word" >>{seen}; done\n'
        f'printf "%s\\n" "$*" >>{seen}\n'
        f'exec sh -c "${{last/\\/owner\\/results.git/{remote}}}"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("LANDSPEED_RESULTS_KEY", "a secret key")
    monkeypatch.setenv("GITHUB_TOKEN", "a token")
    one = farmer("one")
    found = Remote.find("https://github.com/owner/results.git", one.paths)
    assert found.url == "ssh://git@github.com/owner/results.git"
    one.measure(2)
    branch = ResultsBranch(remote=found, paths=one.paths)
    assert branch.push() == 1
    assert git("--git-dir", str(remote), "rev-parse", "results")
    told = seen.read_text()
    assert "600 " in told
    assert "-F none" in told
    assert "StrictHostKeyChecking=yes" in told
    assert "a secret key" not in told
    assert "a token" not in told
    assert "github.com ssh-ed25519 " in (
        Path(told.split()[1]).parent.joinpath("known_hosts").read_text()
    )


def test_a_remote_that_is_not_there_is_one_clear_error(farmer, tmp_path):
    one = Farmer(tmp_path, tmp_path / "nowhere.git", "one")
    with pytest.raises(RemoteError, match=r"reading the branch .* failed"):
        one.branch.fetch()


def test_a_damaged_file_on_the_branch_stays_out(farmer, remote, tmp_path):
    one = farmer("one")
    one.measure(1)
    one.branch.push()
    work = tmp_path / "work"
    git("clone", "--quiet", "--branch=results", str(remote), str(work))
    (segment,) = work.rglob("*.parquet")
    segment.write_bytes(segment.read_bytes()[:-9] + b"tampered!")
    who = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x"}
    git("-C", str(work), "commit", "-qam", "x", **who, GIT_COMMITTER_EMAIL="x")
    git("-C", str(work), "push", "--quiet")
    two = farmer("two")
    assert two.branch.fetch() == 0
    assert [Path(name).name for name in damaged_files(two.paths.results)] == [segment.name]


def test_what_is_no_result_of_ours_stays_on_the_branch_and_comes_to_nobody(
    farmer, remote, tmp_path
):
    one = farmer("one")
    one.measure(1)
    one.branch.push()
    work = tmp_path / "work"
    git("clone", "--quiet", "--branch=results", str(remote), str(work))
    (work / "README.md").write_text("hello")
    (work / "records" / "loose").mkdir()
    (work / "records" / "loose" / "x.json").write_text("{}")
    (work / "bisect").mkdir()
    (work / "bisect" / "evil.json").symlink_to("/etc/passwd")
    git("-C", str(work), "add", "--all")
    who = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x"}
    git("-C", str(work), "commit", "-qm", "x", **who, GIT_COMMITTER_EMAIL="x")
    git("-C", str(work), "push", "--quiet")
    two = farmer("two")
    two.measure(1)
    assert two.branch.push() == 1
    assert not (two.paths.results / "README.md").exists()
    names = git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "results")
    assert "README.md" in names
    assert list((two.paths.results / "bisect").glob("*")) == []


@pytest.mark.parametrize(
    "name", ["../records/twins/a.json", "records/twins/.a.json", "records/twins/../a.json", "/a"]
)
def test_names_that_lead_elsewhere_are_no_results(name):
    assert not is_result(name)


# --- being let in --------------------------------------------------------------------------------


class _Asked(BaseHTTPRequestHandler):
    seen: list[str | None]

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_response(403)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_token_goes_to_github_alone_and_is_on_no_command_line(tmp_path, monkeypatch):
    handler = type("Handler", (_Asked,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{service.server_port}"
        log, real = tmp_path / "argv", git("--exec-path")
        program = tmp_path / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real}/git "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("GITHUB_TOKEN", "sesame")
        monkeypatch.setenv("GITHUB_SERVER_URL", url)
        for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(proxy, raising=False)
        paths = Paths(cache=tmp_path / "cache", project=tmp_path)
        for server in (url, url.replace("127.0.0.1", "localhost")):
            branch = ResultsBranch(remote=Remote(url=f"{server}/a/b.git"), paths=paths)
            with pytest.raises(RemoteError) as caught:
                branch.fetch()
            assert "sesame" not in str(caught.value)
        service.shutdown()
    assert handler.seen[0] == "Basic eC1hY2Nlc3MtdG9rZW46c2VzYW1l"
    assert handler.seen[-1] is None
    assert "ls-remote" in log.read_text()
    assert "sesame" not in log.read_text()
    assert "eC1hY2Nlc3" not in log.read_text()
    everything = (path for path in paths.cache.rglob("*") if path.is_file())
    assert not any(b"eC1hY2Nlc3" in path.read_bytes() for path in everything)


def test_the_remote_is_the_one_given_or_the_workflows_or_the_checkouts(tmp_path, monkeypatch):
    for name in ("GITHUB_REPOSITORY", "GITHUB_ACTIONS", "GITHUB_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    paths = Paths(cache=tmp_path / "cache", project=tmp_path)
    with pytest.raises(UsageError, match="no git remote is configured"):
        Remote.find(None, paths)
    git("init", "--quiet", str(tmp_path))
    git("-C", str(tmp_path), "remote", "add", "origin", "https://me:secret@example.org/x.git")
    found = Remote.find(None, paths)
    assert found.url == "https://me:secret@example.org/x.git"
    assert found.shown == "https://example.org/x.git"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_REPOSITORY", "farm/landspeed")
    assert Remote.find(None, paths).url == "https://github.com/farm/landspeed.git"
    assert Remote.find("/a/path", paths).url == "/a/path"
    with pytest.raises(UsageError):
        Remote.find("ext::sh -c id", paths)
