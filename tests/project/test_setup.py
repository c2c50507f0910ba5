"""tools/setup, with every program that could change this machine replaced by a fake."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
HONEST = (
    *("bash", "cat", "chmod", "cp", "dirname", "env", "flock", "grep", "mkdir", "paste", "rm"),
    *("sed", "sha256sum", "touch", "ln"),
)
NEEDED = (
    *("build-essential", "bison", "flex", "perl", "ccache", "git", "xz-utils", "bzip2"),
    *("ca-certificates", "debian-archive-keyring", "valgrind"),
)
ONLY_LOOKS = {"python -c ", "python -m landspeed.site.asv_machine"}

# every fake notes its own call; what it answers is the test's to say, by the environment
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
    # a Go whose install leaves the program where GOBIN says
    "go": """\
case "$*" in
    "env GOVERSION") echo "${GO_VERSION:-go1.26.1}" ;;
    "install "*)
        [[ ${GO_CODE:-0} -eq 0 ]] || exit "$GO_CODE"
        name=${2%@*}; mkdir -p "$GOBIN"; : >"$GOBIN/${name##*/}"; chmod +x "$GOBIN/${name##*/}" ;;
esac
""",
    # a Python that can make a venv of itself and whose pip installs landspeed
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
    """An Outcome is what one setup said, what it called, and its exit code."""

    code: int
    said: str
    calls: list[str]

    def of(self, program: str) -> list[str]:
        return [call for call in self.calls if call.split()[0] == program]


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A Checkout is a copy of what tools/setup needs, and the fake machine around it."""

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
        "detail: Only root can install them, and there is no sudo here.\n"
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
    assert "no apt here; these have to be there already: build-essential bison" in done.said


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


def test_changed_requirements_are_installed_into_the_same_venv(checkout):
    checkout.setup()
    (checkout.venv / "kept").write_text("")
    with (checkout.directory / "pyproject.toml").open("a") as file:
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
    assert any(call.endswith(" .[dev]") for call in checkout.setup().calls)


def test_the_linters_are_added_to_a_venv_made_without_them(checkout):
    assert any(call.endswith(" .") for call in checkout.setup().calls)
    assert any(call.endswith(" .[dev]") for call in checkout.setup("--dev").calls)


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
        assert f"setup: no {name}: it takes Go 1.21 or later" in done.said
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
    digest = hashlib.sha256((checkout.directory / "pyproject.toml").read_bytes()).hexdigest()
    stamp = (checkout.venv / "landspeed-setup.stamp").read_text().splitlines()
    assert stamp == ["run", digest, str(checkout.directory)]
