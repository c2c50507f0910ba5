"""The Container on a pretended docker: what it asks for, and one clear error for each end."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import BuildError, UsageError
from builders.build_set import Order, build_many
from builders.docker.client import mount
from builders.docker.toolchain import DIRECTORY, load_toolchains, toolchain_named
from landspeed.cli.options.sandbox import chosen_sandbox, runs_here
from landspeed.console.params import parse_memory
from tests.kits.builds.buildkit import (
    PretendedSources,
    alive,
    build,
    builder,
    ended,
    eventually,
    forked,
    is_empty,
    programs,
)
from tests.kits.builds.docker_kit import in_docker

pytestmark = pytest.mark.slow

NO_DAEMON = "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"


def option(call: list[str], name: str) -> str:
    return call[call.index(name) + 1]


def mounts(call: list[str]) -> dict[str, str]:
    """Target and the rest of each mount of a ``docker run``."""
    fields = [call[i + 1].split(",") for i, word in enumerate(call) if word == "--mount"]
    return {f[2].removeprefix("target="): ",".join([f[1], *f[3:]]) for f in fields}


# --- when all goes well --------------------------------------------------------------------


def test_a_build_in_a_container_is_a_build_like_any_other_and_says_its_image(docker, cache):
    maker = in_docker(docker, cache)
    made = build(maker)
    assert made == maker.store.find(made.identifier)
    assert made.toolchain["cc"] == "gcc (Pretended) 12.2.0"
    assert made.toolchain["image"].startswith("landspeed-builder:bookworm-gcc-12-")
    assert made.cpu_seconds > 0
    assert is_empty(cache / "trees")


def test_its_files_are_those_of_a_host_build_and_its_identity_is_not(docker, cache):
    inside_, outside = build(in_docker(docker, cache)), build(builder(cache))
    assert inside_.digest == outside.digest
    assert inside_.identifier != outside.identifier


def test_the_source_and_our_code_are_mounted_read_only_the_rest_is_writable(docker, cache):
    build(in_docker(docker, cache))
    places = mounts(docker.calls("run")[-1])
    read_only = {name for name, rest in places.items() if rest.endswith(",readonly")}
    assert read_only == {
        "/landspeed/source",
        "/landspeed/lib/builders",
        "/landspeed/lib/mesonbuild",
    }
    assert set(places) - read_only == {
        f"/landspeed/{name}" for name in ("tree", "stage", "ccache", "log")
    }
    assert places["/landspeed/ccache"] == f"source={cache}/ccache"


def test_a_strangers_patch_cannot_write_to_the_compiler_cache(docker, cache):
    class Strangers(PretendedSources):
        def is_of_strangers(self, source):
            return True

    sources = Strangers(main='test "$CCACHE_READONLY" = 1')
    build(replace(in_docker(docker, cache), sources=sources))
    places = mounts(docker.calls("run")[-1])
    assert places["/landspeed/ccache"] == f"source={cache}/ccache,readonly"


def test_it_runs_as_the_caller_without_a_network_and_within_its_limits(docker, cache):
    build(in_docker(docker, cache, memory=2**31, cpus=1.5))
    call = docker.calls("run")[-1]
    assert option(call, "--user") == f"{os.getuid()}:{os.getgid()}"
    assert option(call, "--network") == "none"
    assert option(call, "--pull") == "never"
    assert option(call, "--memory") == option(call, "--memory-swap") == str(2**31)
    assert option(call, "--cpus") == "1.5"
    (log,) = (cache / "logs").iterdir()
    assert " -j2 " in log.read_text(), "no more compilers than processors"


def test_without_limits_docker_is_asked_for_none(docker, cache):
    build(in_docker(docker, cache))
    assert not {"--memory", "--cpus"} & set(docker.calls("run")[-1])


def test_an_image_is_made_once_from_the_dockerfile_and_its_row(docker, cache, caplog):
    build(in_docker(docker, cache))
    (call,) = docker.calls("build")
    assert "BASE_IMAGE=debian:bookworm-slim" in call
    assert "CC=gcc-12" in call
    assert (docker.root / "dockerfile").read_text() == (
        DIRECTORY / "builder.Dockerfile"
    ).read_text()
    assert any("making the toolchain image" in line for line in caplog.messages)


def test_objects_of_another_image_are_no_hits_of_the_compiler_cache(docker, cache):
    made = build(in_docker(docker, cache, 'echo "check: $CCACHE_COMPILERCHECK"'))
    log = (cache / "logs" / f"{made.identifier}.log").read_text()
    (check,) = (line for line in log.splitlines() if line.startswith("check: "))
    assert made.toolchain["image"] in check


@pytest.mark.parametrize(("at_once", "share"), [(1, 4), (2, 2), (4, 1)])
def test_each_container_of_a_set_has_its_share_of_the_jobs(docker, cache, at_once, share):
    maker = in_docker(docker, cache)
    source = maker.sources.resolve("13")
    orders = [Order(source=source, variant=Variant(blocksize=size)) for size in (1, 2, 4, 8)]
    outcomes = build_many(maker, orders, at_once=at_once, tell=lambda _: None)
    assert all(isinstance(outcome, Build) for outcome in outcomes.values())
    for log in (cache / "logs").iterdir():
        assert f" -j{share} " in log.read_text()


def test_a_path_with_a_comma_or_a_quote_is_still_one_path():
    _, argument = mount(Path('/a,"b"'), "/x")
    assert argument == 'type=bind,"source=/a,""b""",target=/x,readonly'


# --- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (NO_DAEMON, "no Docker daemon answers", "systemctl start docker"),
        (
            "failed to connect to the docker API at unix:///x; check if the path is correct",
            "no Docker daemon answers",
            "leave out --in docker",
        ),
        (
            "Got permission denied while trying to connect to the Docker daemon socket",
            "this user may not use Docker",
            "adduser USER docker",
        ),
        ("no space left on device", "docker could not look for an image", "docker's own"),
    ],
)
def test_a_docker_that_does_not_answer_is_one_clear_error(docker, cache, words, message, hint):
    docker.has(refuses=words)
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache))
    assert caught.value.message == message
    assert words in caught.value.detail
    assert hint in caught.value.hint


def test_a_machine_without_docker_is_told_how_to_get_it(cache, tmp_path, monkeypatch, docker):
    monkeypatch.setenv("PATH", str(programs(tmp_path / "bin")))
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache))
    assert caught.value.message == 'could not run "docker"'
    assert "apt-get install docker.io" in caught.value.hint


def test_a_missing_base_image_is_one_clear_error_that_says_make_docker_base(docker, cache):
    docker.has(images=[], build_refuses="pull access denied for debian")
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache))
    assert caught.value.message.startswith("could not make the toolchain image landspeed-builder:")
    assert "pull access denied" in caught.value.detail
    assert "make docker-base DEBIAN=bookworm" in caught.value.hint


def test_an_image_whose_apt_fails_is_not_blamed_on_its_base(docker, cache):
    docker.has(
        images=[], build_refuses="E: apt\nThe command '/bin/sh' returned a non-zero code: 100"
    )
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache))
    assert "E: apt" in caught.value.detail
    assert "docker-base" not in caught.value.hint


def test_an_image_that_was_removed_is_made_anew(docker, cache):
    build(in_docker(docker, cache))
    (docker.root / "images").write_text("")
    assert build(in_docker(docker, cache)).identifier
    assert len(docker.calls("build")) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (NO_DAEMON, "no Docker daemon answers"),
        (
            "docker: Error: No such image: x",
            "the toolchain's image was removed while it was needed",
        ),
        ("docker: invalid mount", "could not start a container of bookworm-gcc-12"),
    ],
)
def test_a_container_that_does_not_start_is_one_clear_error(docker, cache, words, message):
    docker.has(run_refuses=words)
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache))
    assert caught.value.message == message
    assert words in caught.value.detail


def test_a_container_killed_for_memory_says_so_and_what_its_limit_was(docker, cache):
    docker.has(dies_at="src/backend", memory_kills=1)
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache, memory=512 * 2**20))
    error = caught.value
    assert error.message == "could not build PostgreSQL 13.16 bs8"
    assert "ended with exit code 137" in error.detail
    assert "killed for memory (--memory 512m)" in error.hint
    (log,) = (cache / "logs").iterdir()
    assert f"log:  {log}" in error.detail
    assert in_docker(docker, cache).store.all() == []


def test_a_container_that_somebody_killed_is_not_said_to_have_run_out_of_memory(docker, cache):
    docker.has(dies_at="src/backend")
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache, memory=512 * 2**20))
    assert "ended with exit code 137" in caught.value.detail
    assert "not by the kernel for memory" in caught.value.hint
    (call,) = docker.calls("events")
    assert option(call, "--filter") == f"container={option(docker.calls('run')[-1], '--name')}"


def test_a_compiler_killed_for_memory_in_a_container_that_lives_says_the_same(docker, cache):
    docker.has(memory_kills=1)
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache, main="exit 1"))
    assert "killed for memory (no --memory limit of ours)" in caught.value.hint


def test_a_compiler_error_keeps_tree_and_log_and_shows_the_last_lines(docker, cache):
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache, main="echo \"main.c:1: error: expected ';'\"; exit 1"))
    assert "main.c:1: error: expected ';'" in caught.value.detail
    tree = next(
        line.removeprefix("tree: ")
        for line in caught.value.detail.splitlines()
        if line.startswith("tree: ")
    )
    assert Path(tree, "src/backend/main.c").exists()
    assert build(in_docker(docker, cache)).program("postgres").exists(), "mended, it is built"
    assert is_empty(cache / "trees")


def test_a_program_that_the_image_lacks_is_not_blamed_on_this_machine(docker, cache):
    with pytest.raises(BuildError) as caught:
        build(in_docker(docker, cache, main="echo 'sh: 1: bison: not found'; exit 127"))
    assert "docker/builder.Dockerfile" in caught.value.hint


def test_the_container_of_a_killed_landspeed_ends(docker, cache, tmp_path):
    held = f"echo $$ >> {tmp_path}/compilers; sleep 600"
    with forked(lambda: build(in_docker(docker, cache, main=held))) as pid:
        eventually((tmp_path / "compilers").exists, "the compiler")
        os.kill(pid, signal.SIGKILL)
        ended(pid)
    # the lock is free once the container's client has ended
    assert build(in_docker(docker, cache)).program("postgres").exists()


def test_an_interrupt_ends_the_container(docker, cache, tmp_path):
    def interrupt(progress):
        if (tmp_path / "compilers").exists():
            raise KeyboardInterrupt

    maker = in_docker(docker, cache, main=f"echo $$ >> {tmp_path}/compilers; sleep 600")
    with pytest.raises(KeyboardInterrupt):
        maker.build(maker.sources.resolve("13"), Variant(), progress=interrupt)
    assert not any(alive(int(pid)) for pid in (tmp_path / "compilers").read_text().split())


# --- toolchains and options ----------------------------------------------------------------


def test_the_toolchains_are_several_and_named_by_release_and_compiler():
    names = [t.name for t in load_toolchains()]
    assert names[0] == "bookworm-gcc-12"
    assert "bookworm-clang-14" in names
    assert len({t.debian for t in load_toolchains()}) > 1
    assert len(set(names)) == len(names)


def test_an_unknown_toolchain_is_told_which_there_are():
    with pytest.raises(UsageError) as caught:
        toolchain_named("potato-gcc-2")
    assert caught.value.message == 'toolchain "potato-gcc-2" does not exist'
    assert "bookworm-clang-14" in caught.value.detail


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[toolchain]]",
        'toolchain = "gcc"',
        '[[toolchain]]\ndebian = "bookworm"\ncc = "tcc"',
        '[[toolchain]]\ndebian = "book worm"\ncc = "gcc-12"',
        '[[toolchain]]\ndebian = "bookworm"\ncc = "gcc-12"\nld = "gold"',
    ],
)
def test_toolchains_that_cannot_be_understood_are_a_usage_error(tmp_path, text):
    (tmp_path / "toolchains.toml").write_text(text)
    with pytest.raises(UsageError, match="cannot be read"):
        load_toolchains(tmp_path / "toolchains.toml")


def test_an_images_tag_changes_with_its_row_and_with_the_dockerfile():
    one, other = load_toolchains()[:2]
    assert one.image("FROM a") == one.image("FROM a")
    assert len({one.image("FROM a"), one.image("FROM b"), other.image("FROM a")}) == 3


def test_the_dockerfile_needs_nothing_that_an_old_or_lone_docker_lacks():
    lines = (DIRECTORY / "builder.Dockerfile").read_text().splitlines()
    assert not [line for line in lines if line.startswith("# syntax") or "--mount" in line]
    assert not [line for line in lines if "<<" in line or "https:" in line]
    assert not [line for line in lines if not line.startswith("#") and "postgres" in line.lower()]


@pytest.mark.parametrize(
    ("text", "size"), [("2g", 2**31), ("512m", 2**29), ("9000K", 9000 * 2**10), ("8388608", 2**23)]
)
def test_memory_is_spelled_as_docker_does(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "g", "1.5g", "-1g", "1t", "5m", "1000"])
def test_what_is_no_limit_for_memory_is_a_usage_error(text):
    with pytest.raises(UsageError, match="is not an amount of memory"):
        parse_memory(text)


@pytest.mark.parametrize("given", [{"memory": "2g"}, {"cpus": 1.0}, {"toolchain": "x"}])
def test_limits_without_a_container_are_a_usage_error(given):
    options = {"place": "host", "toolchain": None, "memory": None, "cpus": None} | given
    with pytest.raises(UsageError) as caught:
        chosen_sandbox(**options)
    assert caught.value.message == f"--{next(iter(given))} is for builds in a container"


@pytest.mark.parametrize("cpus", [0.0, -1.0, 1e6, float("nan")])
def test_processors_that_are_not_there_are_a_usage_error(cpus):
    with pytest.raises(UsageError, match="--cpus"):
        chosen_sandbox(place="docker", toolchain=None, memory=None, cpus=cpus)


# --- whether it runs here ------------------------------------------------------------------


def server(build: Build, script: str) -> Build:
    """*build* with a server that does as *script* says."""
    build.program("postgres").write_text(f"#!/bin/sh\n{script}\n")
    build.program("postgres").chmod(0o755)
    return build


def test_a_server_that_runs_here_is_known_by_trying_it(docker, cache, capsys):
    assert runs_here(server(build(in_docker(docker, cache)), 'test "$1" = --version'))
    assert capsys.readouterr().err == ""


def test_a_server_of_no_image_that_does_not_run_is_taken_for_damaged(docker, cache, capsys):
    made = replace(server(build(in_docker(docker, cache)), "exit 1"), toolchain={})
    assert not runs_here(made)
    assert f"remove {made.prefix}" in capsys.readouterr().err


def test_a_server_whose_libc_is_too_new_is_told_in_the_loaders_words(docker, cache, capsys):
    words = "postgres: libc.so.6: version `GLIBC_2.38' not found"
    made = server(build(in_docker(docker, cache)), f'echo "{words.replace("`", "")}" >&2; exit 1')
    assert not runs_here(made)
    said = capsys.readouterr().err
    assert said.startswith("warning: the server of 13.16 bs8 was built, but does not run on this")
    assert "GLIBC_2.38" in said
    assert "choose a --toolchain" in said
