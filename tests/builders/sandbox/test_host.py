"""The Host: steps run in a clean environment, fail with all one needs, and leave nobody behind."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

import pytest

from base.build import Compiler, Variant
from base.errors import BuildError, BusyError
from base.files import locked
from base.version import Version
from builders.recipe import BuildStep, Recipe
from builders.recipe_table import BuildSystem
from builders.sandbox import Host, Progress, host, inside
from tests.kits.builds.buildkit import alive, ended, eventually, forked, programs

pytestmark = pytest.mark.slow

# What a session holds that no process group does: ninja starts compilers like this.
OWN_GROUP = (
    "import os, subprocess, time;"
    "child = subprocess.Popen(['sleep', '600'], process_group=0);"
    "open('pids.new', 'w').write(f'{os.getpid()} {child.pid}');"
    "os.rename('pids.new', 'pids');"
    "time.sleep(600)"
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where steps are run: a source tree, a stage, a log and a lock."""

    root: Path
    seen: list[Progress] = field(default_factory=list)

    @property
    def source(self) -> Path:
        return self.root / "tree"

    @property
    def log(self) -> Path:
        return self.root / "logs" / "build.log"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def pids(self) -> list[int]:
        """The processes of OWN_GROUP, once they all run."""
        path = self.source / "pids"
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def run(self, *steps: BuildStep) -> float:
        """The CPU seconds of *steps*."""
        plan = Recipe(
            version=Version.parse("13.16"),
            variant=Variant(),
            system=BuildSystem.CONFIGURE,
            quirks=(),
            steps=steps,
            prefix="/opt/pgsql",
        )
        with locked(self.lock, wait=False) as held:
            return Host(ccache=self.root / "ccache", jobs=3).run(
                plan,
                source=self.source,
                stage=self.root / "stage",
                log=self.log,
                progress=self.seen.append,
                lock=held,
            )


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")
    made = Site(root=tmp_path)
    made.source.mkdir()
    return made


def shell(script: str, name: str = "a step") -> BuildStep:
    return BuildStep(name=name, argv=("sh", "-c", script))


def test_steps_run_in_order_in_the_source_tree_and_the_log_tells_them(site):
    site.run(shell("pwd; echo one >&2", "first"), shell("echo two", "second"))
    said = site.log.read_text().splitlines()
    assert said[0].startswith("# landspeed: PostgreSQL 13.16 bs8 in ")
    assert said[1:] == [
        "$ sh -c pwd; echo one >&2",
        str(site.source),
        "one",
        "$ sh -c echo two",
        "two",
    ]


def test_nothing_of_the_callers_environment_reaches_a_step(site, monkeypatch):
    for name in (
        "CFLAGS CC LDFLAGS MAKEFLAGS MFLAGS DESTDIR PGPORT PGDATA PGHOST LD_LIBRARY_PATH"
        " CCACHE_DISABLE CCACHE_DIR PYTHONPATH GIT_DIR LANG LC_MESSAGES TMPDIR VIRTUAL_ENV"
    ).split():
        monkeypatch.setenv(name, "leaked")
    site.run(shell("env"))
    assert "leaked" not in site.log.read_text()
    assert "LC_ALL=C\n" in site.log.read_text()
    assert f"CCACHE_DIR={site.root}/ccache\n" in site.log.read_text()
    assert f"CCACHE_BASEDIR={site.source}\n" in site.log.read_text()


def test_a_steps_own_variables_reach_it_and_no_other_step(site):
    own = BuildStep(name="own", argv=("env",), environment=(("CFLAGS", "-O2"),))
    site.run(own, shell("echo 'and then'; env"))
    before, after = site.log.read_text().split("and then\n")
    assert "CFLAGS=-O2" in before
    assert "CFLAGS" not in after


def test_a_steps_stdin_is_empty_so_that_nothing_ever_asks(site):
    site.run(shell("cat; echo done"))
    assert site.log.read_text().endswith("done\n")


def test_tokens_become_what_they_are_on_this_machine(site):
    site.run(
        BuildStep(name="show", argv=("echo", "-j{jobs}", "DESTDIR={stage}", "{python}", "{other}"))
    )
    assert site.log.read_text().endswith(
        f"-j3 DESTDIR={site.root}/stage {sys.executable} {{other}}\n"
    )


def test_cpu_seconds_are_those_of_the_step_and_all_it_started(site):
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    spent = site.run(shell(f'{sys.executable} -I -S -c "{burn}"; true'), shell("true"))
    assert 0.3 <= spent < 1.5


def test_progress_names_each_step_and_grows_with_what_is_compiled(site):
    places = [site.source / "src" / "backend", site.source / "src" / "port"]
    for place in places:
        place.mkdir(parents=True)
        (place / "a.c").touch()
    steps = [
        BuildStep(name=f"make {p.name}", argv=("sh", "-c", "touch $1/a.o", "sh", f"src/{p.name}"))
        for p in places
    ]
    site.run(*steps, shell("true", "install"))
    starts = {p.step: p.share for p in reversed(site.seen)}
    assert starts == {"make backend": 0.0, "make port": 0.5, "install": 1.0}


def test_progress_believes_ninja_when_it_counts(site, monkeypatch):
    monkeypatch.setattr("builders.sandbox.steps._TICK_SECONDS", 0.0)
    site.run(shell("echo '[30/120] Compiling C object a.o'; sleep 0.05", "ninja"))
    assert site.seen[0].share == 0.0
    assert site.seen[-1] == Progress(step="ninja", share=0.25)


def test_progress_does_not_believe_a_count_that_no_build_has(site):
    site.run(shell(f"echo [{'9' * 400}/1]", "ninja"), shell("true"))
    assert site.seen[-1].share == 0.0


# --- failures ------------------------------------------------------------------------------


def test_a_failure_names_step_code_tree_and_log_and_shows_the_last_ten_lines(site):
    with pytest.raises(BuildError) as caught:
        site.run(shell("seq 100 120; exit 3", "make src/backend all"), shell("touch after"))
    error = caught.value
    assert error.message == "could not build PostgreSQL 13.16 bs8"
    assert error.detail.splitlines() == [
        'Step "make src/backend all" ended with exit code 3.',
        f"tree: {site.source}",
        f"log:  {site.log}",
        *map(str, range(111, 121)),
    ]
    assert "landspeed plan 13.16" in error.hint
    assert not (site.source / "after").exists(), "the steps after it are not run"


KILLED = (
    "kill -9 $$",
    "echo 'gcc: fatal error: Killed signal terminated program cc1'; exit 2",
    "echo 'clang: error: unable to execute command: Killed'; exit 2",
    "echo 'make: *** [common.mk:37: xlog.o] Killed'; exit 2",
    "exit 137",
)


def test_a_step_that_was_killed_is_told_from_one_that_failed(site):
    with pytest.raises(BuildError, match="was killed by signal 9"):
        site.run(shell("kill -9 $$"))


@pytest.mark.parametrize("script", KILLED)
@pytest.mark.parametrize(
    ("kills", "hint"), [(0, "not by the kernel for memory"), (1, "Memory ran out")]
)
def test_only_the_kernels_count_says_that_it_was_for_memory(site, script, kills, hint, monkeypatch):
    counters = site.root / "vmstat"
    counters.write_text("pgfault 5\noom_kill 3\n")
    monkeypatch.setattr(host, "_COUNTERS", (str(counters),))
    more = f"echo 'oom_kill {3 + kills}' > {counters}; {script}"
    with pytest.raises(BuildError) as caught:
        site.run(shell(more))
    assert hint in caught.value.hint


def test_the_kernel_of_this_machine_counts_what_it_kills_for_memory():
    assert "oom_kill" in Path("/proc/vmstat").read_text()
    assert inside.memory_kills(["/proc/vmstat"]) >= 0


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (
            "cc1: fatal error: error writing to /tmp/cc.s: No space left on device",
            "Free some space",
        ),
        ("virtual memory exhausted: Cannot allocate memory", "Memory ran out"),
        ("sh: 1: bison: not found", "make setup"),
        ("bash: line 1: flex: command not found", "make setup"),
        ("configure: error: Perl not found", "make setup"),
        ("meson.build:331:0: ERROR: Program 'flex' not found or not executable", "make setup"),
        ("port.h:17:10: fatal error: stdio.h: No such file or directory", "make setup"),
        ("main.c:1:5: error: expected ';' before 'return'", "Read the log's first error"),
    ],
)
def test_a_failure_has_the_hint_for_its_cause_even_when_make_went_on_after_it(site, said, hint):
    with pytest.raises(BuildError) as caught:
        site.run(BuildStep(name="make", argv=("sh", "-c", 'echo "$1"; seq 50; exit 2', "sh", said)))
    assert hint in caught.value.hint


@pytest.mark.skipif(not (which("ccache") and which("gcc")), reason="needs a real ccache and gcc")
@pytest.mark.parametrize("enabled", [True, False])
def test_a_ccache_that_is_switched_off_costs_time_and_nothing_else(tmp_path, monkeypatch, enabled):
    monkeypatch.setenv("CCACHE_DISABLE", "1")  # the caller's own does not reach us
    site = Site(root=tmp_path)
    (site.root / "ccache").mkdir()
    (site.root / "ccache" / "ccache.conf").write_text("" if enabled else "disable = true\n")
    site.source.mkdir()
    (site.source / "main.c").write_text("int answer(void) { return 42; }\n")
    site.run(*[shell("ccache gcc -c main.c -MMD -o main.o")] * 2, shell("nm main.o"))
    assert "T answer" in site.log.read_text()
    kept = [path for path in (site.root / "ccache").rglob("*R") if path.is_file()]
    assert bool(kept) == enabled


@pytest.mark.parametrize("program", ["ccache", "ninja-of-old"])
def test_a_missing_program_is_said_before_any_step_with_the_way_to_get_it(
    site, program, monkeypatch
):
    (site.root / "bin" / "ccache").unlink()
    monkeypatch.setenv("PATH", str(site.root / "bin"))
    if program != "ccache":
        programs(site.root / "more")
        monkeypatch.setenv("PATH", str(site.root / "more"))
    with pytest.raises(BuildError) as caught:
        site.run(BuildStep(name="ninja", argv=("ninja-of-old", "-C", "build")))
    assert caught.value.message == f'could not run "{program}"'
    assert "make setup" in caught.value.hint
    assert not site.log.exists()


def test_a_missing_compiler_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(programs(tmp_path / "bin")))
    host = Host(ccache=tmp_path, jobs=1)
    assert host.toolchain(Variant())["cc"] == "gcc (Pretended) 12.2.0"
    for name in ("gcc", "bison"):
        monkeypatch.setenv("PATH", str(programs(tmp_path / f"no-{name}")))
        (tmp_path / f"no-{name}" / name).unlink()
        with pytest.raises(BuildError) as caught:
            host.toolchain(Variant())
        assert caught.value.message == f'could not run "{name}"'
        assert "make setup" in caught.value.hint


def test_clang_is_the_cc_of_its_variants_and_one_that_is_missing_says_how_to_get_it(
    tmp_path, monkeypatch
):
    found = programs(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(found))
    host, by_clang = Host(ccache=tmp_path, jobs=1), Variant(compiler=Compiler.CLANG)
    with pytest.raises(BuildError) as caught:
        host.toolchain(by_clang)
    assert caught.value.message == 'could not run "clang"'
    assert "apt-get install clang" in caught.value.hint
    (found / "clang").write_text("#!/bin/sh\necho clang 14\n")
    (found / "clang").chmod(0o755)
    monkeypatch.setenv("PATH", f"{found}:/nowhere")
    assert host.toolchain(by_clang) == host.toolchain(Variant()) | {"cc": "clang 14"}


def test_a_native_build_says_which_processor_it_is_for_and_no_other_build_does(
    tmp_path, monkeypatch
):
    found = programs(tmp_path / "bin")
    answer = """[ "$1" = -march=native ] && { echo ' /lib/cc1 -march=znver4 -mavx' >&2; exit; }"""
    (found / "gcc").write_text(f"#!/bin/sh\n{answer}\necho gcc 12\n")
    monkeypatch.setenv("PATH", str(found))
    host, native = Host(ccache=tmp_path, jobs=1), Variant(flags=("native",))
    here = host.toolchain(native)
    assert here.pop("native").startswith("znver4 ")
    assert here == host.toolchain(Variant(flags=("O3",))) == host.toolchain(Variant())


# --- nothing stays behind ------------------------------------------------------------------


def own_group() -> BuildStep:
    """A step that never ends, with a process in a group of its own."""
    return BuildStep(name="compile", argv=(sys.executable, "-I", "-S", "-c", OWN_GROUP))


def test_an_interrupt_ends_every_process_of_the_step_whatever_its_group(site):
    class Impatient(list[Progress]):
        def append(self, progress: Progress) -> None:
            if site.pids:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Site(root=site.root, seen=Impatient()).run(own_group())
    assert len(site.pids) == 2
    assert not any(map(alive, site.pids))
    with locked(site.lock, wait=False):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_landspeed_leaves_no_process_of_its_step_and_no_lock(site, number):
    with forked(lambda: site.run(own_group())) as pid:
        eventually(lambda: len(site.pids) == 2, "the step")
        os.kill(pid, number)
        assert ended(pid) != 0
    eventually(lambda: not any(map(alive, site.pids)), "the end of what it left")
    with locked(site.lock):
        pass


def test_the_lock_is_held_as_long_as_a_process_of_a_killed_landspeed_lives(site):
    """Were even the worker killed: two makes in one tree cannot be."""
    with forked(lambda: site.run(own_group())) as pid:
        eventually(lambda: len(site.pids) == 2, "the step")
        (worker,) = [
            int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _is_worker_of(pid, entry)
        ]
        os.kill(pid, signal.SIGSTOP)
        for killed in (worker, pid):
            os.kill(killed, signal.SIGKILL)
        ended(pid)
    try:
        assert all(map(alive, site.pids))
        with pytest.raises(BusyError), locked(site.lock, wait=False):
            pass
    finally:
        inside.end(worker)
    with locked(site.lock):
        pass


def test_a_worker_that_is_killed_is_an_error_and_leaves_no_process(site):
    class Deadly(list[Progress]):
        def append(self, progress: Progress) -> None:
            if site.pids:
                (entry,) = [
                    e for e in Path("/proc").glob("[0-9]*") if _is_worker_of(os.getpid(), e)
                ]
                os.kill(int(entry.name), signal.SIGKILL)

    with pytest.raises(BuildError, match="was killed by signal 9"):
        Site(root=site.root, seen=Deadly()).run(own_group())
    assert not any(map(alive, site.pids))


def _is_worker_of(pid: int, entry: Path) -> bool:
    try:
        parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        return parent == pid and inside.__file__ in (entry / "cmdline").read_text()
    except OSError:
        return False


def test_a_session_ends_with_all_its_processes_and_no_other(site):
    with forked(lambda: (os.setsid(), signal.pause())) as one, forked(signal.pause) as other:
        eventually(lambda: inside.members(one) == [one], "a session of its own")
        inside.end(one)
        assert not alive(one)
        assert alive(other)
