"""Variants reach the real compiler: a real release is configured in one, by both build systems.

Compiling it all would take minutes and show little more: what is built of it is tried by hand, with
"landspeed build --check" (docs/variants.md says which).
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Variant
from base.files import locked
from base.paths import Paths
from builders.builder import Builder
from builders.recipe import MESON_BUILD_DIRECTORY
from builders.recipe_table import BuildSystem

pytestmark = pytest.mark.postgres

NAME = "bs4-wal16-seg2-O3-native-lto"
SIZES = {"BLCKSZ": "4096", "XLOG_BLCKSZ": "16384", "RELSEG_SIZE": "524288"}
FLAGS = {"-O3", "-march=native", "-flto=auto"}


def configured(tmp_path: Path, name: str, system: BuildSystem) -> Path:
    """The tree of the newest release, configured as variant *name*."""
    builder = Builder.open(Paths.find())
    source, variant = builder.newest_stable(), Variant.parse(name)
    plan = builder.recipe(source, variant, system)
    until = next(i for i, step in enumerate(plan.steps) if step.configures)
    builder.sources.export(source, tmp_path / "tree")
    with locked(tmp_path / "lock") as held:
        builder.sandbox.run(
            replace(plan, steps=plan.steps[: until + 1]),
            source=tmp_path / "tree",
            stage=tmp_path / "stage",
            log=tmp_path / "log",
            progress=lambda _: None,
            lock=held,
        )
    return tmp_path / "tree"


def defined(header: Path) -> dict[str, str]:
    """What *header* defines of SIZES."""
    found = dict(re.findall(r"^#define (\w+) (\w+)$", header.read_text(), re.MULTILINE))
    return {name: found[name] for name in SIZES}


def test_configure_takes_every_part_of_a_variant(tmp_path):
    tree = configured(tmp_path, NAME, BuildSystem.CONFIGURE)
    assert defined(tree / "src/include/pg_config.h") == SIZES
    makefile = (tree / "src/Makefile.global").read_text()
    (flags,) = re.findall(r"^CFLAGS = (.*)$", makefile, re.MULTILINE)
    assert set(flags.split()) >= FLAGS
    assert "-O2" not in flags.split()


def calls_of_meson(tree: Path) -> list[str]:
    """How meson calls the compiler for a file of the backend."""
    calls = json.loads((tree / MESON_BUILD_DIRECTORY / "compile_commands.json").read_text())
    (call,) = (c["command"] for c in calls if c["file"].endswith("/smgr/md.c"))
    return call.split()


def test_meson_takes_every_part_of_a_variant(tmp_path):
    tree = configured(tmp_path, NAME, BuildSystem.MESON)
    assert defined(tree / MESON_BUILD_DIRECTORY / "src/include/pg_config.h") == SIZES
    call = calls_of_meson(tree)
    assert set(call) >= FLAGS
    assert not {"-O2", "-fPIC"} & set(call)


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_clang_is_taken_where_it_is_installed(tmp_path):
    tree = configured(tmp_path, "bs8-clang", BuildSystem.MESON)
    assert any(word.endswith("clang") for word in calls_of_meson(tree)[:2])
    assert "-O2" in calls_of_meson(tree)
