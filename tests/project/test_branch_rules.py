"""The rules of a farm's branches, as tools/branch-rules sends them to a stand-in for gh."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.project.test_workflows import WORKFLOWS, workflow

TOOL = Path(__file__).resolve().parents[2] / "tools/branch-rules"
GH = """#!/bin/sh
printf '%s\\n' "$*" >>"$SEEN"
case $* in *--jq*) echo "17 landspeed main"; exit ;; esac
cat >>"$SEEN"
"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOL), *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def rulesets() -> dict[str, dict[str, dict[str, object]]]:
    """The rules by their types, by the branches that they are for."""
    decoder, text, found = json.JSONDecoder(), run("owner/farm").stdout, {}
    while text := text.lstrip():
        body, end = decoder.raw_decode(text)
        text = text[end:]
        (ref,) = body["conditions"]["ref_name"]["include"]
        assert (body["target"], body["enforcement"]) == ("branch", "active")
        found[ref] = {rule["type"]: rule.get("parameters", {}) for rule in body["rules"]}
    return found


def test_neither_branch_can_be_deleted_or_rewritten_and_main_takes_only_what_was_reviewed():
    found = rulesets()
    assert set(found) == {"refs/heads/results", "refs/heads/main"}
    assert all({"deletion", "non_fast_forward"} <= set(rules) for rules in found.values())
    assert "pull_request" not in found["refs/heads/results"]  # jobs push there
    assert found["refs/heads/main"]["pull_request"]["require_code_owner_review"] is True


def test_the_checks_that_main_asks_for_are_the_jobs_of_ci():
    checks = rulesets()["refs/heads/main"]["required_status_checks"]["required_status_checks"]
    names = {job["name"] for job in workflow(WORKFLOWS / "ci.yml")["jobs"].values()}
    assert {check["context"] for check in checks} == names


def test_rules_that_are_there_are_replaced_and_the_others_made(tmp_path):
    gh, seen = tmp_path / "gh", tmp_path / "seen"
    gh.write_text(GH)
    gh.chmod(0o755)
    done = run("owner/farm", "--apply", PATH=f"{tmp_path}:{os.environ['PATH']}", SEEN=str(seen))
    assert done.returncode == 0, done.stderr
    calls = [line for line in seen.read_text().splitlines() if line.startswith("api ")]
    assert calls[1:] == [
        "api --method POST repos/owner/farm/rulesets --input -",
        "api --method PUT repos/owner/farm/rulesets/17 --input -",
    ]


@pytest.mark.parametrize("words", [(), ("farm",), ("o/f;id",), ("o/f", "--force")])
def test_what_names_no_repository_is_refused(words):
    done = run(*words)
    assert done.returncode == 1
    assert done.stderr.startswith("error:  no repository is named\n")


def test_what_can_start_a_workflow_or_a_machine_has_an_owner_and_a_page_says_where_to_report():
    owners = (TOOL.parents[1] / ".github/CODEOWNERS").read_text()
    for place in ("/.github/", "/tools/"):
        assert f"\n{place} " in owners
    assert "private vulnerability report" in (TOOL.parents[1] / "SECURITY.md").read_text()
