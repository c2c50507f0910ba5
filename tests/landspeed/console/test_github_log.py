"""What landspeed tells a runner of GitHub Actions: outputs, summaries, and never a command."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UsageError
from benchmarks.machine.machine import Machine
from landspeed.cli.main import cli
from landspeed.console.github_log import Harmless, harmless, put_outputs, put_summary
from tests.kits.made_up.bisect_project import MadeUp
from tests.kits.verbs import called

# how runners find commands, the real one and act: ActionCommand.cs, act's command.go
COMMANDS = (re.compile(r"(?:^|[\r\n])\s*::"), re.compile(r"##\["))
SPITEFUL = st.text(alphabet=":#[]x \t\r\n", max_size=30)


def is_harmless(text: str) -> bool:
    return not any(command.search(text) for command in COMMANDS)


@pytest.mark.parametrize(
    "text",
    [
        "::set-output name=a::b",
        "  ::add-mask::x",
        "fine\n::stop-commands::x",
        "progress\r::error::x",
        "a subject with ##[add-path]/tmp in it",
        "::::",
        "###[[",
    ],
)
def test_a_command_is_defused_and_reads_the_same(text):
    assert not is_harmless(text)
    assert is_harmless(harmless(text))
    assert harmless(text).replace("\u2060", "") == text


@pytest.mark.parametrize("text", ["", "a::b", "std::vector", "# [x]", "## heading", "a: b: c"])
def test_what_is_no_command_stays_as_it_is(text):
    assert harmless(text) == text


@given(st.lists(SPITEFUL, max_size=6))
def test_however_it_is_cut_into_pieces_nothing_that_is_written_is_a_command(pieces):
    stream = io.StringIO()
    guarded = Harmless(stream)
    for piece in pieces:
        assert guarded.write(piece) == len(piece)
    assert not guarded.isatty()
    assert is_harmless(stream.getvalue())
    assert stream.getvalue().replace("\u2060", "") == "".join(pieces)


def read_outputs(text: str) -> dict[str, str]:
    """The outputs in *text*, read as the runner does: SetOutputFileCommand."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, _, end = line.partition("<<")
        value = []
        while (one := next(lines)) != end:
            value.append(one)
        found[name] = "\n".join(value)
    return found


def test_outputs_hold_any_text_and_no_text_makes_another_output(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    evil = "x\nEOF\nruns_on<<EOF\nself-hosted\nEOF\nend-0000"
    put_outputs({"subject": evil, "count": 2, "builds": [{"ref": "a\nb"}]})
    put_outputs({"more": ""})
    assert read_outputs((tmp_path / "output").read_text()) == {
        "subject": evil,
        "count": "2",
        "builds": '[{"ref":"a\\nb"}]',
        "more": "",
    }
    with pytest.raises(UsageError):
        put_outputs({"a=b\nc": "x"})


def test_without_a_runner_outputs_and_summaries_go_nowhere(monkeypatch):
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    put_outputs({"a": "b"})
    put_summary("# a")


def test_a_summary_that_is_too_long_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    put_summary("# one")
    put_summary("é" * 2_000_000)
    written = (tmp_path / "summary").read_bytes()
    assert written.startswith(b"# one\n\n")
    assert len(written) < 1 << 20
    assert "the log has all of it" in written.decode()


def test_an_option_may_come_by_the_environment_and_an_empty_one_is_none(tmp_path):
    words = ["plan", "--json"]
    environment = {"LANDSPEED_CACHE": str(tmp_path), "LANDSPEED_PLAN_PRESET": "quick"}
    given_ = CliRunner().invoke(cli, words, env={**environment, "LANDSPEED_PLAN_SECONDS": "7"})
    assert json.loads(given_.stdout)["measurements"]["seconds"] == 7
    left_out = CliRunner().invoke(cli, words, env={**environment, "LANDSPEED_PLAN_SECONDS": ""})
    assert json.loads(left_out.stdout)["measurements"]["seconds"] != 7


@pytest.mark.parametrize("under", [True, False])
def test_an_error_about_a_hostile_word_is_no_command_under_a_runner(under, tmp_path):
    evil = "x\n::set-output name=runner::mine\n##[add-path]/tmp"
    environment = os.environ | {"LANDSPEED_CACHE": str(tmp_path)}
    environment["GITHUB_ACTIONS"] = "true" if under else ""
    checkout = Path(__file__).resolve().parents[3]
    done = called(["compare", "18", "--mode", evil], environment, checkout)
    assert done.returncode == 2
    assert is_harmless(done.stderr) == under


def test_a_runner_that_github_hosts_has_one_name_as_a_machine(monkeypatch):
    monkeypatch.delenv("LANDSPEED_MACHINE", raising=False)
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "github-hosted")
    assert Machine.detect().name == "github-hosted"
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "self-hosted")
    assert Machine.detect().name == os.uname().nodename
    monkeypatch.setenv("LANDSPEED_MACHINE", "bench-1")
    assert Machine.detect().name == "bench-1"


def test_publish_of_nothing_is_no_error_where_that_is_asked_for(tmp_path):
    for name in ("asv.conf.json", "landspeed.toml"):
        (tmp_path / name).write_text((Path(__file__).resolve().parents[3] / name).read_text())
    environment = {
        "LANDSPEED_PROJECT": str(tmp_path),
        "LANDSPEED_CACHE": str(tmp_path / "cache"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    done = CliRunner().invoke(cli, ["publish", "--if-any"], env=environment)
    assert done.exit_code == 0, done.exception
    assert read_outputs((tmp_path / "output").read_text()) == {"published": "false"}


@pytest.mark.parametrize(
    ("words", "runner"),
    [
        (["bisect", "{good}", "{bad}", "--metric", "tps"], ["self-hosted", "landspeed-bench"]),
        (["bisect", "{good}", "{bad}", "--metric", "wal_bytes"], ["ubuntu-24.04"]),
        (["compare", "{good}", "{bad}", "--metric", "instructions"], ["ubuntu-24.04"]),
        (["bisect", "{bad}:bs4", "{bad}:bs8", "--over", "variants"], ["self-hosted", "bench"]),
    ],
)
def test_a_dry_run_says_what_would_be_done_and_where_and_makes_nothing(
    words, runner, tmp_path, monkeypatch
):
    made = MadeUp.make(tmp_path, 3)
    ends = {"good": made.commits[0], "bad": made.commits[-1]}
    if "bench" in runner:
        monkeypatch.setenv("LANDSPEED_BENCH_LABELS", "self-hosted bench")
    environment = {**made.environment, "GITHUB_OUTPUT": str(tmp_path / "output")}
    asked = [word.format(**ends) for word in words]
    done = CliRunner().invoke(cli, [*asked, "--dry-run"], env=environment)
    assert done.exit_code == 0, done.exception
    assert done.stdout.startswith(f"would {words[0]} ")
    assert json.loads(read_outputs((tmp_path / "output").read_text())["runner"]) == runner
    assert not (made.project / "results").exists()
    assert not (tmp_path / "cache/builds").exists()
