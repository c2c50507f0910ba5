"""Where commits are in history: the branch they are a part of, and the order on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from builders.source.git import Git
from builders.source.history import History, Position, positions
from tests.kits.builds.sourcekit import GitUpstream
from tests.kits.made_up.synthetic_project import bare_repository


class Repository:
    """A bare repository whose commits are made one after the other."""

    def __init__(self, path: Path) -> None:
        bare_repository(path, {"17.1": "2025-01-01"})
        self.git = Git(directory=path)
        self.tree = self.git.text("rev-parse", "refs/heads/releases^{tree}")

    def commit(self, subject: str, *parents: str) -> str:
        who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME",)}
        who |= {f"GIT_{role}_EMAIL": "x@example.org" for role in ("AUTHOR", "COMMITTER")}
        ancestry = [word for parent in parents for word in ("-p", parent)]
        made = self.git.run("commit-tree", self.tree, "-m", subject, *ancestry, environment=who)
        return made.decode().strip()

    def line(self, name: str, *parents: str, length: int = 3) -> list[str]:
        made: list[str] = []
        for number in range(length):
            made.append(self.commit(f"{name} {number}", *(made[-1:] or parents)))
        return made

    def branch(self, ref: str, tip: str) -> None:
        self.git.run("update-ref", ref, tip)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "sources.git")


def test_a_stable_branch_begins_where_it_leaves_master(repository: Repository) -> None:
    master = repository.line("master", length=4)
    stable = repository.line("stable", master[1])
    repository.branch("refs/heads/master", master[-1])
    repository.branch("refs/heads/REL_17_STABLE", stable[-1])
    found = positions(repository.git, [*master, *stable])
    assert [found[c] for c in master] == [Position(branch="master", position=i) for i in range(4)]
    assert [found[c] for c in stable] == [
        Position(branch="REL_17_STABLE", position=i) for i in range(3)
    ]


def test_of_a_merge_the_other_side_is_not_on_the_branch(repository: Repository) -> None:
    trunk = repository.line("trunk", length=2)
    side = repository.line("side", trunk[0], length=2)
    merge = repository.commit("merge", trunk[-1], side[-1])
    repository.branch("refs/heads/master", merge)
    found = positions(repository.git, [*trunk, *side, merge])
    assert [found[c].position for c in (*trunk, merge)] == [0, 1, 2]
    assert not set(side) & found.keys()


def test_a_branch_that_only_upstream_has_is_a_line_too(repository: Repository) -> None:
    master = repository.line("master")
    feature = repository.line("feature", master[-1])
    repository.branch("refs/landspeed/heads/master", master[-1])
    repository.branch("refs/heads/master", master[-1])
    repository.branch("refs/landspeed/heads/my/feature", feature[-1])
    found = positions(repository.git, [master[0], feature[-1]])
    assert found == {
        master[0]: Position(branch="master", position=0),
        feature[-1]: Position(branch="my/feature", position=2),
    }


def test_where_our_copy_of_a_branch_is_behind_the_upstreams_its_commits_go_on(
    repository: Repository,
) -> None:
    feature = repository.line("feature", length=5)
    repository.branch("refs/heads/master", repository.line("master")[-1])
    repository.branch("refs/heads/my/feature", feature[1])
    repository.branch("refs/landspeed/heads/my/feature", feature[-1])
    found = positions(repository.git, feature)
    assert [found[c] for c in feature] == [
        Position(branch="my/feature", position=i) for i in range(5)
    ]


def test_commits_on_no_branch_and_our_own_view_have_no_place(repository: Repository) -> None:
    repository.branch("refs/heads/master", repository.line("master")[-1])
    release = repository.git.text("rev-parse", "refs/heads/releases")
    lost = repository.commit("lost")
    assert positions(repository.git, [release, lost, "0" * 40]) == {}
    assert positions(repository.git, []) == {}


def test_a_repository_without_branches_has_no_places(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "empty.git"], check=True)
    assert positions(Git(directory=tmp_path / "empty.git"), ["0" * 40]) == {}


def test_the_commits_that_changed_a_function_are_found_wherever_it_stands(tmp_path: Path) -> None:
    upstream = GitUpstream(tmp_path / "upstream")
    scan, other = "int\nExecScan(int x)\n{{\n\treturn x + {};\n}}\n", "int\nOther(void)\n{{\n{}}}\n"

    def commit(subject: str, first: int, second: str) -> str:
        text = other.format(second) + scan.format(first)
        (upstream.directory / "execScan.c").write_text(text)
        return upstream.commit("18devel", subject)

    good = commit("Begin", 1, "")
    commit("Change the other", 1, "\treturn 1;\n")
    changed = commit("Add two", 2, "\treturn 1;\n")
    bad = commit("Say no more", 2, "")
    history = History(git=Git(directory=upstream.directory / ".git"))
    assert [one.hash for one in history.changing(good, bad, "ExecScan")] == [changed]
    assert [one.subject for one in history.changing(good, bad, "Other")] == [
        "Say no more",
        "Change the other",
    ]
    assert [one.subject for one in history.changing(good, bad, "Other", most=1)] == ["Say no more"]
    edited = history.edited(good, bad)
    assert edited[changed] == {"ExecScan"}
    assert [edited[one.hash] for one in history.between(good, bad)] == [
        {"Other"},
        {"ExecScan"},
        {"Other"},
    ]
    said = commit("Say it", 2, "\t/* nothing\n\t * else */\n\n")
    assert history.edited(bad, said) == {said: set()}
    assert history.functions(bad, "") == {"execScan.c": {"Other", "ExecScan"}}
    assert history.functions(bad, "src") == {}
    for unknown in ("Exec", "0x1234", "--all", "a:b", ""):
        assert history.changing(good, bad, unknown) == []
