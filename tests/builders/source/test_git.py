"""git starts nothing that a user's files or a repository's own configuration name."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from base.errors import SourceError
from builders.source import git as git_module
from builders.source.git import Git
from tests.kits.builds.sourcekit import GitUpstream, Harness

PLANTED = """[core]
\thooksPath = {hooks}
\tfsmonitor = {program}
\tsshCommand = {program}
\tgitProxy = {program}
\tattributesFile = {attributes}
[protocol "ext"]
\tallow = always
[credential]
\thelper = !{program}
[filter "x"]
\tsmudge = {program}
"""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that a planted program makes when it is started."""
    return tmp_path / "mark"


@pytest.fixture
def planted(tmp_path: Path, mark: Path) -> str:
    """A configuration whose every program makes *mark*."""
    program, hooks = tmp_path / "program", tmp_path / "hooks"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >>{mark}\n')
    program.chmod(0o755)
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-push", "post-index-change"):
        (hooks / name).symlink_to(program)
    attributes = tmp_path / "attributes"
    attributes.write_text("* filter=x\n")
    return PLANTED.format(hooks=hooks, program=program, attributes=attributes)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    made = Git(directory=tmp_path / "repository.git")
    made.run("init", "--quiet", "--bare", "--template=")
    return made


def commit_of(git: Git) -> str:
    identity = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    tree = git.text("mktree")
    return git.run("commit-tree", tree, "-m", "x", environment=identity).decode().strip()


@pytest.mark.parametrize("where", ["global", "system", "home"])
def test_no_hook_of_a_users_or_a_systems_configuration_runs(where, git, planted, mark, monkeypatch):
    file = mark.parent / ".gitconfig"
    file.write_text(planted)
    variables = {"global": "GIT_CONFIG_GLOBAL", "system": "GIT_CONFIG_SYSTEM"}
    if where == "home":
        monkeypatch.setenv("HOME", str(mark.parent))
    else:
        monkeypatch.setenv(variables[where], str(file))
    git.run("update-ref", "refs/heads/x", commit_of(git))
    assert not mark.exists()


def test_no_hook_that_a_repository_names_runs_and_no_command_is_a_transport(git, planted, mark):
    with (git.directory / "config").open("a") as config:
        config.write(planted)
    git.run("update-ref", "refs/heads/x", commit_of(git))
    with pytest.raises(SourceError):
        git.run("ls-remote", f"ext::{mark.parent}/program %S")
    assert not mark.exists()


def test_a_restored_repository_of_sources_is_configured_anew(tmp_path, planted, mark):
    upstream = GitUpstream(tmp_path / "postgres")
    upstream.commit("18devel", "first")
    (tmp_path / "world").mkdir()
    harness = Harness(tmp_path / "world")

    def resolve() -> None:
        sources = harness.sources(order=("git",), upstream=f"file://{upstream.directory}")
        sources.resolve("master")

    resolve()
    directory = harness.paths.sources
    own = (directory / "config").read_text()
    assert "promisor = true" in own
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "config").write_text(planted)
    (directory / "config").write_text(own + planted)
    (directory / "info/attributes").write_text("* filter=x\n")
    (directory / "commondir").write_text(str(elsewhere))
    resolve()
    assert (directory / "config").read_text() == own
    assert "filter=x" not in (directory / "info/attributes").read_text()
    assert not (directory / "commondir").exists()
    assert not mark.exists()


def test_a_key_that_ssh_refuses_is_no_trouble_with_the_disk(git: Git, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'git@x: Permission denied (publickey).' >&2; exit 255")
    ssh.chmod(0o755)
    with pytest.raises(SourceError) as caught:
        git.run("ls-remote", "git@example.org:pg.git", environment={"GIT_SSH": str(ssh)})
    assert "Permission denied (publickey)" in caught.value.detail


def test_a_server_that_never_answers_is_given_up(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git.text("config", "http.lowSpeedTime") == "600"
    patience = tuple(one.replace("600", "1") for one in git_module._PATIENCE)
    monkeypatch.setattr(git_module, "_PATIENCE", patience)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(SourceError) as caught:
            git.run("ls-remote", f"http://127.0.0.1:{server.getsockname()[1]}/postgresql.git")
    assert "too slow" in f"{caught.value.message} {caught.value.detail}"
