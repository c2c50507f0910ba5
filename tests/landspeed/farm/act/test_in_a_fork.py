"""action.yml under the real act, in a fork of PostgreSQL as docs/in-your-fork.md says.

The fork has the newest release's source as its master, and a branch with one commit for each case.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from base.build import Build
from base.files import remove_tree
from base.paths import Paths
from tests.conftest import CHECKOUT, DATA
from tests.kits.builds.sourcekit import IDENTITY
from tests.kits.farm.act_kit import ActRun, Hub, needs_act, pretended_setup

pytestmark = [needs_act, pytest.mark.postgres]

EXECUTOR, POSTMASTER = "src/backend/executor/execMain.c", "src/backend/postmaster/postmaster.c"
DIVISION = "src/backend/utils/adt/int.c"
AFTER_A_TUPLE = "\t\tif (TupIsNull(slot))\n\t\t\tbreak;\n"
SLOWER = """
/* Look at all columns of a tuple. */
static pg_noinline void
ExecCheckSlot(TupleTableSlot *slot)
{
\tfor (volatile int i = 0; i < 100; i++)
\t\tslot_getallattrs(slot);
}
"""
WORKLOADS = "select-1-simple join-ten"


class Fork:
    """A clone of a fork, with the action and a cache that has the release's build."""

    def __init__(self, root: Path, release: Build) -> None:
        self.root = root
        self.hub = Hub(root=root, name="example/postgres")
        self.hub.repository.mkdir(parents=True)
        self.hub.actions["OWNER/landspeed"] = self._action()
        self.hub.git("init", "--quiet", "--initial-branch=master")
        sources, ref = str(Paths.find().sources), f"refs/landspeed/trees/{release.version}"
        self.hub.git("fetch", "--quiet", "--depth=1", sources, ref)
        tree = self.hub.git("rev-parse", "FETCH_HEAD^{tree}")
        self._commit(tree, "master", release.version.tag)
        subprocess.run(
            ["git", "clone", "--quiet", "--bare", self.hub.repository, root / "postgres"],
            check=True,
        )
        self.hub.git("tag", release.version.tag, "master")
        page = (CHECKOUT / "docs" / "in-your-fork.md").read_text()
        told = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)[0])
        told["on"] = told.pop(True)
        told["jobs"]["cost"]["steps"][1]["with"] = {
            "workloads": WORKLOADS,
            "upstream": str(root / "postgres"),
            "fail-on": "${{ vars.FAIL_ON }}",
        }
        workflow = self.hub.repository / ".github" / "workflows" / "cost.yml"
        workflow.parent.mkdir(parents=True)
        workflow.write_text(yaml.safe_dump(told))
        # what is built is shared with other tests; the sources are this fork's
        shared, own = Paths.find().cache, root / "cache"
        own.mkdir()
        for name in ("builds", "ccache"):
            (own / name).symlink_to(shared / name)
        self.hub.environment = {
            "HOME": str(root / "home"),
            "PYTHONPATH": str(CHECKOUT),
            "LANDSPEED_CACHE": str(own),
            "LANDSPEED_DATA": str(root / "data"),
        }

    def _action(self) -> Path:
        directory = self.root / "landspeed"
        command = [sys.executable, "-m", "landspeed.cli.main"]
        files = {name: (CHECKOUT / name).read_text() for name in ("action.yml", "asv.conf.json")}
        files |= {"landspeed.toml": "", "tools/setup": pretended_setup(command)}
        for name, text in files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(text)
        (directory / "tools/setup").chmod(0o755)
        return directory

    def _commit(self, tree: str, branch: str, subject: str, *options: str) -> None:
        made = self.hub.git("commit-tree", tree, "-m", subject, *options)
        self.hub.git("update-ref", f"refs/heads/{branch}", made)

    def push(self, branch: str, path: str, old: str, new: str) -> ActRun:
        """Run the workflow for *branch*: master with *old* replaced by *new* in the file *path*."""
        text = self.hub.git("show", f"master:{path}")
        assert old in text
        (self.root / "changed").write_text(text.replace(old, new, 1) + "\n")
        blob = self.hub.git("hash-object", "-w", str(self.root / "changed"))
        self.hub.git("read-tree", "master")
        self.hub.git("update-index", "--cacheinfo", f"100644,{blob},{path}")
        self._commit(self.hub.git("write-tree"), branch, f"change {path}", "-p", "master")
        self.hub.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        return self.hub.run("cost.yml", "push", ref=f"refs/heads/{branch}", timeout=1500)


@pytest.fixture(scope="module")
def fork(newest_build: Build) -> Iterator[Fork]:
    # where the servers' user can go, as it cannot into pytest's directories
    root = DATA.with_name(f"{DATA.name}-fork")
    root.mkdir(mode=0o755)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in IDENTITY.items():
            patch.setenv(name, value)
        yield Fork(root, newest_build)
    remove_tree(root)


def without_counts(summary: str) -> str:
    """*summary* without its counts, which may differ by an instruction when counted again."""
    return re.sub(r"[\d,]+\.\d+|(?<=[+-])[\d,]+(?=`)", "N", summary)


def test_a_slower_branch_is_told_by_workload_size_and_function(fork):
    fork.hub.variables["FAIL_ON"] = ""
    slower = f"{AFTER_A_TUPLE}\t\tExecCheckSlot(slot);\n"
    text = fork.hub.git("show", f"master:{EXECUTOR}")
    place = text.index("\nExecutePlan(")
    begin = text.rindex("\n/* ------", 0, place)
    old = text[begin : text.index(AFTER_A_TUPLE, place) + len(AFTER_A_TUPLE)]
    run = fork.push("slow", EXECUTOR, old, SLOWER + old.replace(AFTER_A_TUPLE, slower))
    assert run.code == 0, run.told()
    summary = run.summary("cost")
    change = r"\| \+\d+\.\d\d % \| `?select-1-simple`? \|.*\| code \|.*ExecCheckSlot"
    assert re.search(change, summary), summary
    assert "1 of 2 workloads the same" in summary
    assert "The patch changes 2 functions; these workloads execute 1 of them." in summary
    assert "inlined or in a library: ExecutePlan." in summary
    (report,) = (fork.hub.stubs / "artifacts").glob("*/landspeed-report/landspeed-report.json")
    facts = json.loads(report.read_text())
    (changed,) = facts["changes"]
    assert changed["workload"] == "select-1-simple"

    # the same again fails where that is asked for; only the branch is counted again
    fork.hub.variables["FAIL_ON"] = "0.5%"
    again = fork.hub.run("cost.yml", "push", ref="refs/heads/slow", timeout=1500)
    assert again.jobs == {"cost": "failure"}, again.told()
    log = again.log("cost")
    assert "--fail-on allows less than 0.5 %" in log
    assert "0 built, 0 runs measured, 2 were recorded before" in log
    (percent,) = re.findall(r"slower by up to (\S+) %", log)
    assert float(percent) == pytest.approx(100 * (changed["ratio"] - 1), abs=0.05)
    assert without_counts(again.summary("cost")) == without_counts(summary)


def test_a_branch_that_does_not_build_is_one_message_in_the_summary(fork):
    run = fork.push("broken", EXECUTOR, "\nstandard_ExecutorRun(", "\nthis does not compile(")
    assert run.jobs == {"cost": "failure"}, run.told()
    summary = run.summary("cost")
    assert summary.startswith("Not compared:\n\n```\nerror:  ")
    assert summary.count("error:  ") == 1
    assert "execMain.c" in summary


def test_a_branch_that_does_not_start_is_one_message_in_the_summary(fork):
    begin = "\nPostmasterMain(int argc, char *argv[])\n{\n"
    run = fork.push("dead", POSTMASTER, begin, f"{begin}\texit(argc > 0 ? 3 : 4);\n")
    assert run.jobs == {"cost": "failure"}, run.told()
    summary = run.summary("cost")
    assert summary.startswith("Not compared:\n\n```\nerror:  ")
    assert re.search(r"error:  the server of [0-9a-f]{10} bs8 (died|did not start)", summary), (
        summary
    )


def test_a_branch_whose_regression_tests_fail_is_counted_like_any_other(fork):
    fork.hub.variables["FAIL_ON"] = "0.5%"
    message = "division by zero"
    for expected in ("case", "errors", "numeric"):
        assert message in fork.hub.git("show", f"master:src/test/regress/expected/{expected}.out")
    text = fork.hub.git("show", f"master:{DIVISION}")
    run = fork.push("wrong", DIVISION, text, text.replace(message, "division by naught"))
    assert run.jobs == {"cost": "success"}, run.told()
    summary = run.summary("cost")
    assert "2 of 2 workloads the same" in summary
