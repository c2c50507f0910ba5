"""tools/setup and tools/lock, with fakes for the programs that could change this machine."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
HONEST = (
    *("bash", "cat", "chmod", "cp", "dirname", "env", "flock", "grep", "mkdir", "paste", "rm"),
    *("sed", "sha256sum", "touch", "ln"),
)
NEEDED = (
    *("build-essential", "bison", "flex", "perl", "ccache", "git", "xz-utils", "bzip2"),
    *("ca-certificates", "debian-archive-keyring", "valgrind", "bubblewrap"),
)
ONLY_LOOKS = {"python -c ", "python -m landspeed.site.asv_machine"}

# Every fake records its call; the environment says what it answers.
NOTE = '#!/bin/bash\nprintf "%s\\n" "${0##*/} $*" >>"$CALLS"\n'
FAKES = {
    "apt-get": '[[ $* != *install* ]] || exit "${APT_CODE:-0}"\n',
    "dpkg-query": "printf 'installed %s\\n' $INSTALLED\nprintf 'config-files flex\\n'\n",
    "sudo": '"$@"\n',
    "useradd": "",
    "getent": 'exit "$GETENT_CODE"\n',
    "id": 'echo "$FAKE_UID"\n',
    "chromium": "",
    "apt-cache": "printf '  Candidate: 2:%s~1\\n' \"${GO_CANDIDATE:-1.19}\"\n",
    # Go, whose install leaves the program in GOBIN.
    "go": """\
case "$*" in
    "env GOVERSION") echo "${GO_VERSION:-go1.26.1}" ;;
    "install "*)
        [[ ${GO_CODE:-0} -eq 0 ]] || exit "$GO_CODE"
        name=${2%@*}; mkdir -p "$GOBIN"; : >"$GOBIN/${name##*/}"; chmod +x "$GOBIN/${name##*/}" ;;
esac
""",
    # Python, which can make a venv of itself and whose pip installs landspeed.
    "python": """\
case "$*" in
    *"import sys, ensurepip"*) exit "${PYTHON_CODE:-0}" ;;
    "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    *"pip install"*)
        [[ ${PIP_CODE:-0} -eq 0 ]] || exit "$PIP_CODE"
        : >"${0%/*}/landspeed"; chmod +x "${0%/*}/landspeed" ;;
esac
""",
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Output, calls and exit code of one run of tools/setup."""

    code: int
    said: str
    calls: list[str]

    def of(self, program: str) -> list[str]:
        return [call for call in self.calls if call.split()[0] == program]


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A copy of what tools/setup needs, and the fake machine around it."""

    directory: Path
    programs: Path
    machine: dict[str, str] = field(
        default_factory=lambda: {"INSTALLED": " ".join(NEEDED), "FAKE_UID": "0", "GETENT_CODE": "0"}
    )

    @property
    def venv(self) -> Path:
        return self.directory / ".venv"

    def setup(self, *arguments: str, **machine: str) -> Outcome:
        calls = self.programs.parent / "calls"
        calls.write_text("")
        done = subprocess.run(
            [str(self.directory / "tools/setup"), *arguments],
            env={
                "PATH": str(self.programs),
                "CALLS": str(calls),
                "LANDSPEED_PYTHON": str(self.programs / "python"),
                **self.machine,
                **machine,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == ""
        return Outcome(code=done.returncode, said=done.stderr, calls=calls.read_text().splitlines())


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    directory, programs = tmp_path / "a checkout", tmp_path / "bin"
    (directory / "tools").mkdir(parents=True)
    programs.mkdir()
    shutil.copy(PROJECT / "tools/setup", directory / "tools/setup")
    shutil.copy(PROJECT / "pyproject.toml", directory)
    shutil.copytree(PROJECT / "requirements", directory / "requirements")
    for name in HONEST:
        (programs / name).symlink_to(shutil.which(name) or "missing")
    for name, body in FAKES.items():
        (programs / name).write_text(NOTE + body)
        (programs / name).chmod(0o755)
    return Checkout(directory=directory, programs=programs)


def test_a_fresh_checkout_gets_its_venv_and_a_second_setup_only_looks(checkout):
    first = checkout.setup()
    assert first.code == 0, first.said
    assert os.access(checkout.venv / "bin/landspeed", os.X_OK)
    assert first.of("apt-get") == first.of("useradd") == []
    assert first.calls[-1] == "python -m landspeed.site.asv_machine"

    second = checkout.setup()
    assert second.code == 0
    assert second.said == ""
    assert second.of("apt-get") == second.of("useradd") == []
    assert set(second.of("python")) == ONLY_LOOKS


def test_missing_packages_are_named_and_installed_once(checkout):
    some = " ".join(name for name in NEEDED if name not in {"flex", "ccache"})
    done = checkout.setup(INSTALLED=some)
    assert done.code == 0
    assert done.said.count("setup: installing Debian packages: flex ccache\n") == 1
    update, install = done.of("apt-get")
    assert update.endswith(" update")
    assert install.endswith(" install --yes --no-install-recommends flex ccache")
    assert done.of("sudo") == []


def test_a_plain_user_installs_through_sudo_and_gets_no_server_user(checkout):
    done = checkout.setup(INSTALLED="git", FAKE_UID="1000", GETENT_CODE="2")
    assert done.code == 0
    assert len(done.of("sudo")) == 2
    assert done.of("useradd") == []


def test_without_root_and_sudo_the_missing_packages_end_in_one_clear_error(checkout):
    (checkout.programs / "sudo").unlink()
    some = " ".join(name for name in NEEDED if name != "bison")
    done = checkout.setup(INSTALLED=some, FAKE_UID="1000")
    assert done.code == 1
    assert done.said == (
        "error:  missing packages: bison\n"
        "detail: Only root can install them, and there is no sudo.\n"
        "hint:   As root: apt-get install bison\n"
    )
    assert done.of("apt-get") == []
    assert not checkout.venv.exists()


def test_without_root_and_sudo_nothing_is_asked_for_when_all_is_there(checkout):
    (checkout.programs / "sudo").unlink()
    assert checkout.setup(FAKE_UID="1000").code == 0


def test_a_failing_apt_ends_in_one_clear_error_with_its_name(checkout):
    done = checkout.setup(INSTALLED="", APT_CODE="100")
    assert done.code == 1
    assert "error:  could not install packages: build-essential bison" in done.said
    assert "hint:   Run" in done.said


def test_a_machine_without_apt_is_told_what_has_to_be_there(checkout):
    (checkout.programs / "apt-get").unlink()
    done = checkout.setup()
    assert done.code == 0
    assert (
        "there is no apt; these packages must be installed already: build-essential bison"
        in done.said
    )


def test_root_gets_the_user_that_servers_run_as(checkout):
    done = checkout.setup(GETENT_CODE="2")
    assert done.of("useradd")[0].startswith("useradd --system ")
    assert done.of("useradd")[0].endswith(" landspeed")
    assert 'adding the system user "landspeed"' in done.said


def test_a_python_that_is_too_old_or_has_no_venv_is_first_sought_in_apt(checkout):
    done = checkout.setup(PYTHON_CODE="1")
    assert done.code == 1
    assert done.of("apt-get")[1].endswith(" python3 python3-venv")
    assert "error:  no usable Python\n" in done.said
    assert "hint:   " in done.said


def test_a_failing_pip_is_one_error_and_the_next_setup_starts_afresh(checkout):
    done = checkout.setup(PIP_CODE="1")
    assert done.code == 1
    assert "error:  could not install Python packages\n" in done.said
    (checkout.venv / "half a package").write_text("")

    again = checkout.setup()
    assert again.code == 0
    assert not (checkout.venv / "half a package").exists()
    assert os.access(checkout.venv / "bin/landspeed", os.X_OK)


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements/run.txt"])
def test_changed_requirements_are_installed_into_the_same_venv(checkout, changed):
    checkout.setup()
    (checkout.venv / "kept").write_text("")
    with (checkout.directory / changed).open("a") as file:
        file.write("# changed\n")
    done = checkout.setup()
    assert any("pip install" in call for call in done.calls)
    assert (checkout.venv / "kept").exists()


def test_a_moved_checkout_gets_a_new_venv(checkout, tmp_path):
    checkout.setup()
    (checkout.venv / "old").write_text("")
    moved = Checkout(
        directory=checkout.directory.rename(tmp_path / "moved"), programs=checkout.programs
    )
    assert moved.setup().code == 0
    assert not (moved.venv / "old").exists()


def test_the_linters_once_installed_stay(checkout):
    checkout.setup("--dev", INSTALLED=" ".join([*NEEDED, "shellcheck"]))
    assert set(checkout.setup().of("python")) == ONLY_LOOKS
    (checkout.directory / "pyproject.toml").write_text("# changed\n")
    assert lock_files(checkout.setup()) == ["requirements/dev.txt"]


def test_the_linters_are_added_to_a_venv_made_without_them(checkout):
    assert lock_files(checkout.setup()) == ["requirements/run.txt"]
    assert lock_files(checkout.setup("--dev")) == ["requirements/dev.txt"]


def test_the_job_that_may_write_gets_few_packages_and_no_compiler(checkout):
    done = checkout.setup("--results", INSTALLED="git ca-certificates")
    assert lock_files(done) == ["requirements/results.txt"]
    assert done.of("apt-get") == done.of("useradd") == []
    assert not any("asv_machine" in call for call in done.calls)
    assert (
        set(checkout.setup("--results", INSTALLED="git ca-certificates").of("python")) <= ONLY_LOOKS
    )
    # what is there for more serves, and what is there for less is completed
    assert lock_files(checkout.setup()) == ["requirements/run.txt"]
    assert lock_files(checkout.setup("--results")) == []


def lock_files(done: Outcome) -> list[str]:
    """The files that pip installed from, all of them with hashes."""
    installs = [call for call in done.calls if "pip install" in call and "--no-deps" not in call]
    assert all("--require-hashes --only-binary :all:" in call for call in installs)
    return [call.rpartition(" ")[2] for call in installs]


def test_pip_downloads_nothing_to_build_landspeed_itself(checkout):
    own = [call for call in checkout.setup().calls if call.endswith("--editable .")]
    assert len(own) == 1
    assert "--no-deps --no-build-isolation" in own[0]


def test_shared_memory_that_cannot_be_written_ends_in_one_clear_error(checkout):
    setup = checkout.directory / "tools/setup"
    setup.write_text(setup.read_text().replace("shared_memory=/dev/shm ", "shared_memory=/no/shm "))
    done = checkout.setup()
    assert done.code == 1
    assert done.said.startswith("error:  cannot write to the shared memory of this machine\n")
    assert "detail: /no/shm is missing or not writable" in done.said
    assert done.of("apt-get") == done.of("python") == []


def test_tests_need_a_browser_and_one_that_is_there_is_enough(checkout):
    assert "chromium" not in checkout.setup("--test").of("apt-get")[1]
    (checkout.programs / "chromium").unlink()
    done = checkout.setup("--test")
    ubuntu = "\nID=ubuntu" in Path("/etc/os-release").read_text()
    assert ("the browser tests will be skipped" in done.said) == ubuntu
    assert done.of("apt-get")[1].endswith(" chromium") != ubuntu


def compiled(done: Outcome) -> list[str]:
    return [call.split("/")[-1] for call in done.of("go") if call.startswith("go install ")]


def test_what_only_go_has_is_compiled_once_in_its_one_version(checkout):
    first = checkout.setup("--test")
    assert first.code == 0, first.said
    assert compiled(first) == ["actionlint@v1.7.12", "act@v0.2.89"]
    assert os.access(checkout.venv / "bin/act", os.X_OK)
    assert compiled(checkout.setup("--test")) == []
    assert compiled(checkout.setup()) == []

    setup = checkout.directory / "tools/setup"
    setup.write_text(setup.read_text().replace("act@v0.2.89", "act@v0.2.90"))
    assert compiled(checkout.setup("--test")) == ["act@v0.2.90"]


def test_linting_needs_no_act(checkout):
    assert compiled(checkout.setup("--dev")) == ["actionlint@v1.7.12"]


@pytest.mark.parametrize("version", ["go1.19.8", "", "devel"])
def test_without_a_go_that_is_new_enough_it_says_what_is_missing_and_goes_on(checkout, version):
    done = checkout.setup("--test", GO_VERSION=version or "none")
    assert done.code == 0
    assert compiled(done) == []
    for name in ("act", "actionlint"):
        assert f"setup: no {name}: it needs Go 1.21 or later" in done.said
    assert "golang-go" not in str(done.of("apt-get"))


def test_go_comes_from_apt_where_that_one_is_new_enough(checkout):
    done = checkout.setup("--test", GO_VERSION="none", GO_CANDIDATE="1.22")
    assert done.of("apt-get")[1].endswith(" golang-go")


def test_a_failing_go_ends_in_one_clear_error(checkout):
    done = checkout.setup("--dev", GO_CODE="1")
    assert done.code == 1
    assert "error:  could not compile actionlint\n" in done.said


def test_an_unknown_option_changes_nothing(checkout):
    done = checkout.setup("--tset")
    assert done.code == 1
    assert done.said.startswith('error:  unknown option "--tset"\n')
    assert done.calls == []


def test_the_stamp_says_for_which_requirements_it_stands(checkout):
    checkout.setup()
    names = ("pyproject.toml", "requirements/run.txt")
    content = b"".join((checkout.directory / name).read_bytes() for name in names)
    stamp = (checkout.venv / "landspeed-setup.stamp").read_text().splitlines()
    assert stamp == ["run", hashlib.sha256(content).hexdigest(), str(checkout.directory)]


# --- the lock files --------------------------------------------------------------------------


def locked(kind: str) -> dict[str, set[str]]:
    """Each package that requirements/KIND.txt installs, with its versions."""
    text = (PROJECT / f"requirements/{kind}.txt").read_text()
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==(\S+)", text, re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


@pytest.mark.parametrize("kind", ["run", "dev", "results"])
def test_every_locked_package_has_hashes(kind):
    text = (PROJECT / f"requirements/{kind}.txt").read_text()
    for stanza in re.split(r"\n(?=\S)", text):
        assert stanza.startswith("#") or "--hash=sha256:" in stanza, stanza.splitlines()[0]


def test_everything_that_pyproject_asks_for_is_locked():
    """A requirement that is new in pyproject.toml needs a "make lock"."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert project["dependency-groups"]["build"] == project["build-system"]["requires"]
    run = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    dev = project["project"]["optional-dependencies"]["dev"]
    results = project["dependency-groups"]["results"]
    for kind, wanted in (("run", run), ("dev", dev), ("results", results)):
        for requirement in map(Requirement, wanted):
            versions = locked(kind).get(canonicalize_name(requirement.name), set())
            assert versions, f'{requirement} is not locked: run "make lock"'
            assert all(version in requirement.specifier for version in versions), requirement


def test_linters_get_the_very_packages_that_a_plain_set_up_gets():
    assert locked("results").items() <= locked("run").items() <= locked("dev").items()
    assert not {"pytest", "mypy", "zizmor"} & set(locked("run"))
