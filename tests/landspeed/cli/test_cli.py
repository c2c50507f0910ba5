"""The command line: errors in PostgreSQL's voice, one exit code each, help with examples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from landspeed.cli import main
from landspeed.cli.main import cli
from tests.kits.verbs import CONTEXT, called, every_command

VERBS = cli.list_commands(CONTEXT)
COMMANDS = every_command()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose configuration names no source at all, so nothing reaches the network."""
    (tmp_path / "asv.conf.json").write_text("{}")
    (tmp_path / "landspeed.toml").write_text("[sources]\norder = []\n")
    return tmp_path


def landspeed(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LANDSPEED_")}
    own = {"LANDSPEED_CACHE": str(project / "cache"), "COLUMNS": "100"}
    return called(arguments, environment | own, project)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["plan", "18", "--blocksize", "3"], 4, "error:  invalid block size: 3 kB"),
        (["plan", "18", "--wal-blocksize", "128"], 4, "error:  invalid WAL block size: 128 kB"),
        (["plan", "18", "--segsize", "3"], 4, "error:  invalid segment size: 3 GB"),
        (["plan", "18", "--flags", "O4"], 4, 'error:  "O4" are not flags of a build variant'),
        (["plan", "18", "--compiler", "icc"], 2, "error:  invalid value for '--compiler'"),
        (["plan", "9.4:bs8-lto"], 4, "error:  PostgreSQL 9.4.26 cannot be built as bs8-lto"),
        (["plan", "8.3:seg8"], 4, "error:  PostgreSQL 8.3.23 cannot be built as bs8-seg8"),
        (["plan", "18:huge"], 4, 'error:  "huge" is not a build variant'),
        (["plan", "77"], 3, "error:  PostgreSQL 77 is not known"),
        (["plan", "7.4"], 3, "error:  PostgreSQL 7.4"),
        (["build", "18.0"], 5, "error:  the source of PostgreSQL 18.0 cannot be reached"),
        (["plan"], 2, "error:  nothing to plan"),
        (["plan", "--preset", "regular", "--scale", "tiny=1"], 2, 'error:  "tiny=1" does not set'),
        (["run", "18", "--configuration", "warp"], 2, 'error:  profile "warp" does not exist'),
        (["run"], 2, "error:  missing argument"),
        (["build", "@debian15"], 2, 'error:  "@debian15" was built elsewhere'),
        (["plan", "@debian15"], 2, 'error:  "@debian15" was built elsewhere'),
        (["plan", "--matrix", "18:huge"], 4, 'error:  "huge" is not a build variant'),
        (["build", "--check", "@debian15"], 3, 'error:  no server is registered as "debian15"'),
        (["run", "@debian15"], 3, 'error:  no server is registered as "debian15"'),
        (["build", "--from", "/nowhere/pg_config"], 2, 'error:  "/nowhere/pg_config" is not a p'),
        (["build", "18", "--jobs", "0"], 2, "error:  invalid value for '--jobs'"),
        (["compare", "18"], 2, "error:  nothing to compare it with"),
        (["compare", "18/warp", "17"], 2, 'error:  profile "warp" does not exist'),
        (["compare", "18", "77"], 3, "error:  PostgreSQL 77 is not known"),
        (["compare", "18", "17", "--budget", "5"], 2, 'error:  "5" is not a duration'),
        (["compare", "18", "17", "--precision", "2"], 2, 'error:  "2" is not a share'),
        (["compare", "18", "17", "--scenario", "x"], 2, 'error:  mode "x" does not exist'),
        (["compare", "@debian15", "18"], 3, 'error:  no server is registered as "debian15"'),
        (["changes", "--fresh"], 2, "error:  --fresh, --bisect and --dry-run need --confirm"),
        (["changes", "--confirm", "asv.conf.json"], 2, "error:  this is not a list of changes"),
        (["build"], 2, "error:  nothing to build"),
        (["build", "18", "--from", "x"], 2, "error:  --from builds nothing"),
        (["confirm"], 2, 'error:  no such command "confirm"'),
        (["fly"], 2, "error:  no such command 'fly'"),
        (["show", "18/a/b/c/d/e/f/g"], 2, 'error:  "18/a/b/c/d/e/f/g" is not a point'),
        (["show", "18.6"], 3, "error:  no runs of this point"),
        (["publish"], 11, "error:  nothing to publish yet"),
    ],
)
def test_bad_input_ends_in_one_clear_error_with_its_exit_code(
    project: Path, arguments: list[str], code: int, message: str
) -> None:
    done = landspeed(project, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    labels = [line.split(":")[0] for line in done.stderr.splitlines() if line[:1].islower()]
    assert labels[0] == "error"
    assert labels.count("error") == 1


def test_output_that_a_full_disk_refuses_is_one_error(project: Path):
    argv = [sys.executable, "-m", "landspeed.cli.main", "list", "--json"]
    environment = os.environ | {"LANDSPEED_PROJECT": str(project)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            argv, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 7
    assert done.stderr.splitlines()[:2] == [
        "error:  could not finish the command",
        "detail: No space left on device",
    ]


def test_outside_a_project_the_error_says_where_to_go(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "landspeed.cli.main", "list"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert "error:  no landspeed project here" in done.stderr
    assert "LANDSPEED_PROJECT" in done.stderr


def test_list_names_every_major_from_8_3_with_what_would_reach_it(project: Path) -> None:
    done = landspeed(project, "list", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    majors = {
        tuple(row["name"].split(".")[: 2 if int(row["name"].split(".")[0]) < 10 else 1])
        for row in rows
    }
    before_ten = {("8", "3"), ("8", "4"), *(("9", str(n)) for n in range(7))}
    assert majors >= before_ten | {(str(n),) for n in range(10, 19)}
    assert {row["source"] for row in rows} == {"out of reach"}


def test_plan_of_a_preset_lists_every_cell_and_its_reason(project: Path) -> None:
    done = landspeed(project, "plan", "--preset", "archaeology", "--json")
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["measurements"]["cells"]
    assert len(cells) == 2 * 3 * 8
    assert {cell["tier"] for cell in cells} == {"small", "medium", "large"}
    assert all("not_applicable" in cell for cell in cells)


def test_options_change_the_preset_that_is_planned(project: Path) -> None:
    done = landspeed(
        project,
        *("plan", "--preset", "quick", "--mode", "tpcb-like", "--protocol", "simple"),
        *("--clients", "3", "--configuration", "tuned", "--samples", "5", "--seconds", "7"),
        *("--scale", "small=9", "--json"),
    )
    plan = json.loads(done.stdout)["measurements"]
    assert (plan["samples"], plan["seconds"], plan["runs"]) == (5, 7, 5)
    (cell,) = plan["cells"]
    assert (cell["mode"], cell["protocol"], cell["scale"]) == ("tpcb-like", "simple", 9)
    assert (cell["clients"], cell["profile"]) == (3, "tuned")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("build", "13:bs4"), "--with-blocksize=4"),
        (("build", "13", "--in", "docker"), "docker build --tag landspeed-builder:"),
        (("run", "18", "--preset", "quick"), "preset quick"),
        (("changes", "--confirm"), "would compare 0 changes, at most 30 min 00 s each"),
        (("farm", "results", "push", "--remote", "nowhere"), "would push 0 files"),
    ],
)
def test_a_dry_run_shows_what_would_be_done_and_makes_nothing(
    project: Path, words: tuple[str, ...], shown: str
) -> None:
    done = landspeed(project, *words, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    left = [path.name for path in (project / "results").rglob("*") if path.is_file()]
    assert [name for name in left if not name.endswith(".lock")] == []
    assert not (project / "cache" / "builds").exists()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_examples(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, [*words, "--help"])
    assert done.exit_code == 0
    assert "Examples:" in done.output
    assert f"landspeed {' '.join(words)}" in done.output


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_list_of_commands_shows_the_first_sentence_of_each_help(words: tuple[str, ...]) -> None:
    listing = CliRunner().invoke(cli, [*words[:-1], "--help"], terminal_width=100).output
    (first,) = re.findall(r"^(?:[^.]|\.\S)*\.", COMMANDS[words].help or "", re.M)[:1]
    assert f" {words[-1]}  {first}\n" in re.sub(" +  ", "  ", listing)


def test_every_module_of_a_verb_is_listed() -> None:
    directory = Path(__file__).resolve().parents[3] / "landspeed" / "cli"
    others = {"__init__", "main", "reference", "bisect_all"}
    modules = {path.stem for path in directory.glob("*.py")} - others
    assert modules == set(VERBS) - {"farm"}


def test_help_lists_the_verbs_in_sections() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output.partition("\nBuild and measure:\n")[2]
    assert re.findall(r"^  (\w+) {2,}\S", shown, re.M) == cli.list_commands(CONTEXT)
    assert re.findall(r"^(\w.*):$", shown, re.M) == ["Compare", "Results", "Machine and farm"]


def test_without_a_verb_the_help_is_printed(project: Path) -> None:
    done = landspeed(project)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: landspeed [OPTIONS] COMMAND")
    assert "error:" not in done.stderr


def test_an_old_name_of_a_verb_is_an_error_that_names_the_new_one(project: Path) -> None:
    done = landspeed(project, "register", "/usr/bin/pg_config")
    assert done.returncode == 2
    assert 'use "landspeed build --from PG_CONFIG"' in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "used"),
    [
        ("", set()),
        ("doctor", set()),
        ("list", {"numpy", "pyarrow", "pydantic"}),
        ("plan", {"pydantic"}),
        ("changes", {"numpy", "psycopg", "pyarrow", "pydantic", "scipy"}),
        ("show", {"numpy", "pyarrow", "pydantic"}),
        ("farm", set()),
        ("publish", {"asv", "numpy", "pyarrow", "pydantic", "scipy"}),
    ],
)
def test_a_verb_imports_nothing_large_that_it_does_not_use(verb: str, used: set[str]) -> None:
    large = {"asv", "matplotlib", "numpy", "psycopg", "pyarrow", "pydantic", "scipy"}
    large |= {"scipy.special", "scipy.stats"}
    code = "import sys; from tests.kits.verbs import CONTEXT, cli; "
    code += "cli.get_command(CONTEXT, sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)", verb],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert large & set(done.stdout.split()) == used


def test_gits_that_others_start_read_no_settings_and_numpy_starts_no_threads(monkeypatch):
    seen = {}
    monkeypatch.setattr(main, "cli", lambda **_: seen.update(os.environ))
    monkeypatch.setattr(main, "print_no_commands", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("gc.set_threshold", lambda *_: None)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "planted")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "planted")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    # setenv remembers what was there before, delenv of what is not there does not
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "mimalloc")
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL")
    main.main()
    assert seen["OPENBLAS_NUM_THREADS"] == "1"
    assert seen["ARROW_DEFAULT_MEMORY_POOL"] == "system"
    assert (seen["GIT_CONFIG_GLOBAL"], seen["GIT_CONFIG_SYSTEM"]) == (os.devnull, os.devnull)
