"""Which compiler a Container has, and which variants it therefore builds."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from base.build import Compiler, Variant
from base.errors import VariantError
from builders.docker.toolchain import Toolchain
from landspeed.cli.options.common import variant_options
from landspeed.cli.options.sandbox import compiled_by, sandbox_options
from tests.kits.builds.buildkit import build
from tests.kits.builds.docker_kit import in_docker

CLANG = Toolchain(debian="bookworm", cc="clang-14")
BY_CLANG = Variant(compiler=Compiler.CLANG)


@pytest.mark.slow
def test_another_compiler_builds_its_own_variant_with_an_identity_of_its_own(docker, cache):
    tell = 'echo "compiled by $0"'
    default, other = in_docker(docker, cache), in_docker(docker, cache, tell, tools=CLANG)
    asked = build(other, BY_CLANG)
    assert asked.identifier != build(default).identifier
    log = (cache / "logs" / f"{asked.identifier}.log").read_text()
    assert "/bin/clang\n" in log
    assert "/bin/gcc\n" not in log


@pytest.mark.parametrize(
    ("tools", "variant", "hint"),
    [
        (CLANG, Variant(blocksize=4), "REF:bs4-clang"),
        (Toolchain(debian="bookworm", cc="gcc-12"), BY_CLANG, "REF:bs8,"),
    ],
)
def test_a_variant_by_a_compiler_that_the_toolchain_is_not_is_one_clear_error(
    docker, cache, tools, variant, hint
):
    with pytest.raises(VariantError) as caught:
        build(in_docker(docker, cache, tools=tools), variant)
    assert caught.value.message == f"toolchain {tools.name} does not build {variant}"
    assert tools.cc in caught.value.detail
    assert hint in caught.value.hint
    assert docker.calls("run") == []


@pytest.mark.parametrize(
    ("words", "compiler"),
    [
        ([], "gcc"),
        (["--in", "docker"], "gcc"),
        (["--in", "docker", "--toolchain", "bookworm-clang-14"], "clang"),
        (["--in", "docker", "--toolchain", "bookworm-clang-14", "--compiler", "gcc"], "gcc"),
    ],
)
def test_who_names_no_compiler_gets_the_toolchains(words, compiler):
    @click.command()
    @variant_options
    @sandbox_options
    def shown(variant, **sandbox):
        click.echo(compiled_by(variant, **sandbox).compiler)

    assert CliRunner().invoke(shown, words).output.strip() == compiler


@pytest.mark.slow
def test_a_native_build_says_which_processor_the_image_compiles_for(docker, cache):
    gcc = docker.root / "bin" / "gcc"
    answer = """[ "$1" = -march=native ] && { echo ' /lib/cc1 -march=znver4 -mavx' >&2; exit; }"""
    gcc.write_text(gcc.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{answer}\n"))
    built = build(in_docker(docker, cache), Variant(flags=("native",)))
    assert built.toolchain["native"].startswith("znver4 ")
    assert "native" not in build(in_docker(docker, cache)).toolchain
