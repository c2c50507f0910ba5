"""Recipes: which steps build what, and that every row of the table counts."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.build import Compiler, Variant
from base.errors import UsageError, VariantError
from base.version import Version
from builders import recipe as module
from builders.catalog import Catalog
from builders.recipe import BuildStep, Recipe, client_recipe, recipe
from builders.recipe_table import BuildSystem, load_table
from tests.kits.builds.variant_kit import variants as any_variants

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
VERSIONS = [release.version for release in Catalog.load().releases]
CONFIGURE, MESON = BuildSystem.CONFIGURE, BuildSystem.MESON

known = st.sampled_from(VERSIONS)
# What every release can have: unsupported variants have tests of their own.
variants = any_variants.map(
    lambda v: replace(v, segsize=min(v.segsize, 4), flags=tuple(set(v.flags) - {"lto"}))
)


def systems(version: Version) -> list[BuildSystem]:
    """What can build *version*."""
    return [CONFIGURE, MESON] if version in load_table().meson.versions else [CONFIGURE]


def all_recipes() -> list[Recipe]:
    """Two variants of every release, by whatever builds it, and of two developments."""
    both = (Variant(), Variant(segsize=2))
    versions = [*VERSIONS, Version.parse("8.5devel"), Version.parse("16devel")]
    return [recipe(v, one, system) for v in versions for system in systems(v) for one in both]


def words(plan: Recipe) -> list[str]:
    """Every argument of every step."""
    return [argument for step in plan.steps for argument in step.argv]


def configuring(plan: Recipe) -> BuildStep:
    """The step that configures."""
    return next(step for step in plan.steps if step.name in {"configure", "meson setup"})


# --- the table -----------------------------------------------------------------------------


@pytest.mark.parametrize("quirk", load_table().quirk, ids=lambda quirk: quirk.name)
def test_every_quirk_has_its_reason_and_says_where_to_see_it(quirk):
    assert quirk.because.strip()
    assert quirk.see.strip()


@pytest.mark.parametrize(
    "quirk", [q for q in load_table().quirk if not q.unsupported], ids=lambda quirk: quirk.name
)
def test_no_quirk_is_dead_each_changes_the_steps_of_a_version(quirk, monkeypatch):
    table = load_table()
    others = table.model_copy(update={"quirk": tuple(q for q in table.quirk if q != quirk)})
    whole = all_recipes()
    monkeypatch.setattr(module, "load_table", lambda: others)
    assert any(a.steps != b.steps for a, b in zip(whole, all_recipes(), strict=True))


def test_quirks_have_names_of_their_own():
    names = [quirk.name for quirk in load_table().quirk]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("directory", load_table().directory, ids=lambda d: f"{d.path}-{d.goal}")
def test_no_directory_is_dead_each_is_visited_for_a_release(directory):
    assert any(version in directory.versions for version in VERSIONS)


@pytest.mark.parametrize(
    ("version", "sign", "without", "with_it"),
    [
        ("9.3devel", "src/common/Makefile", [], ["make src/common all"]),
        (
            "12devel",
            "src/include/catalog/pg_conversion.dat",
            ["make src/backend/utils/mb/conversion_procs all"],
            [],
        ),
        ("16devel", "src/tools/rcgen", ["configure"], ["meson setup"]),
        ("16devel", "src/tools/pgflex", [], ["edit src/tools/pgflex"]),
    ],
)
def test_a_commit_of_a_development_is_built_by_what_is_there(version, sign, without, with_it):
    def steps(*files: str) -> set[str]:
        plan = recipe(Version.parse(version), Variant(), has=lambda path: path in files)
        return {step.name for step in plan.steps}

    assert set(without) <= steps() - steps(sign)
    assert set(with_it) <= steps(sign) - steps()


def test_a_quirk_lasts_to_the_end_of_the_development_in_which_it_was_mended():
    for version, name in (
        ("8.5devel", "perl-by-number"),
        ("8.5devel", "type-before-grammar"),
        ("8.5devel", "undef-yylex"),
        ("9.0devel", "perl-by-number"),
        ("9.2devel", "no-aggressive-loop-optimizations"),
        ("9.6devel", "undef-yylex"),
    ):
        assert name in {quirk.name for quirk in recipe(Version.parse(version), Variant()).quirks}


def test_an_old_configure_understands_how_todays_perl_says_its_version(tmp_path):
    (quirk,) = [one for one in load_table().quirk if one.name == "perl-by-number"]
    # of commit 50a90fac40
    line = "$PERL -v 2>/dev/null | sed -n 's/This is perl, v[a-z ]*//p' | sed 's/ .*//'"
    perl = tmp_path / "perl"
    perl.write_text("#!/bin/sh\necho 'This is perl 5, version 36 (v5.36.0) built for x86_64'\n")
    perl.chmod(0o755)

    def said(*argv, text=""):
        own = os.environ | {"PERL": str(perl)}
        return subprocess.run(
            argv, input=text, env=own, capture_output=True, text=True, check=True
        ).stdout

    (edit,) = quirk.edits
    assert said("sh", "-c", line) == ""
    assert said("sh", "-c", said("sed", edit.sed, text=line)).startswith("5.36.0")


@pytest.mark.parametrize(
    "quirk", [q for q in load_table().quirk if q.unsupported], ids=lambda quirk: quirk.name
)
def test_an_unsupported_variant_is_refused_with_the_reason_and_the_link(quirk):
    refused = [version for version in VERSIONS if version in quirk.versions]
    assert refused
    assert refused != VERSIONS
    for version in (refused[0], refused[-1]):
        for name in quirk.unsupported:
            with pytest.raises(VariantError) as caught:
                recipe(version, Variant.parse(name))
            variant = Variant.parse(name)
            assert caught.value.message == (f"PostgreSQL {version} cannot be built as {variant}")
            assert quirk.because in caught.value.detail
            assert quirk.see in caught.value.detail
            assert name in caught.value.hint


@given(known, any_variants)
def test_a_variant_is_refused_only_if_a_quirk_says_that_it_is_unsupported(version, variant):
    quirks = load_table().quirk
    refusing = [one for one in quirks if version in one.versions and one.forbids(variant)]
    try:
        recipe(version, variant)
    except VariantError:
        assert refusing
    else:
        assert not refusing


@pytest.mark.parametrize("option", load_table().configure.option, ids=lambda o: o.argument)
def test_no_option_is_dead_each_is_given_for_a_release(option):
    assert any(version in option.versions for version in VERSIONS)


# --- recipes -------------------------------------------------------------------------------


@given(known, variants)
def test_meson_builds_what_has_it_and_configure_what_has_not(version, variant):
    plan = recipe(version, variant)
    assert plan.system is systems(version)[-1]
    assert configuring(plan).argv[0] == ("./configure" if plan.system is CONFIGURE else "{python}")


@pytest.mark.parametrize("version", ["8.3.0", "13.16", "15.18"])
def test_meson_for_a_release_without_it_is_a_usage_error_that_says_since_when(version):
    with pytest.raises(UsageError) as caught:
        recipe(Version.parse(version), Variant(), MESON)
    assert caught.value.message == f"PostgreSQL {version} cannot be built with meson"
    assert "from 16.0 on" in caught.value.detail
    assert "--build-system configure" in caught.value.hint


def test_a_development_version_is_built_as_its_release():
    plan, released = (recipe(Version.parse(text), Variant()) for text in ("16devel", "16.0"))
    assert plan.steps == released.steps


@given(known, variants)
def test_block_sizes_reach_the_build_spelled_as_the_release_knows_them(version, variant):
    block, wal = variant.blocksize, variant.wal_blocksize
    spelled = [
        {f"--with-blocksize={block}", f"--with-wal-blocksize={wal}"},
        {f"-Dblocksize={block}", f"-Dwal_blocksize={wal}"},
        {
            f"s/^#define BLCKSZ.*/#define BLCKSZ {block * 1024}/",
            f"s/^#define XLOG_BLCKSZ.*/#define XLOG_BLCKSZ {wal * 1024}/",
        },
    ]
    for system in systems(version):
        said = set(words(recipe(version, variant, system)))
        assert sum(one <= said for one in spelled) == 1


@given(known, variants)
def test_a_segment_size_reaches_the_build_and_the_default_is_nobodys_argument(version, variant):
    blocks = variant.segsize * 2**20 // variant.blocksize
    spelled = {
        f"--with-segsize={variant.segsize}",
        f"-Dsegsize={variant.segsize}",
        f"s/^#define RELSEG_SIZE.*/#define RELSEG_SIZE {blocks}/",
    }
    for system in systems(version):
        said = spelled & set(words(recipe(version, variant, system)))
        assert len(said) == (variant.segsize != 1)


@given(known, variants)
def test_the_compiler_and_the_flags_reach_the_build(version, variant):
    for system in systems(version):
        first = configuring(recipe(version, variant, system))
        given_ = dict(first.environment)
        assert given_["CC"] == f"ccache {variant.compiler}"
        flags = given_.get("CFLAGS", "").split()
        if system is CONFIGURE:
            assert [f for f in flags if f.startswith("-O")] == [
                "-O3" if "O3" in variant.flags else "-O2"
            ]
        assert ("-Doptimization=3" in first.argv or "-O3" in flags) == ("O3" in variant.flags)
        given_once = [word for word in first.argv if word.startswith("-Dc_args=")]
        assert len(given_once) <= 1  # meson would heed only the last
        flags += [flag for word in given_once for flag in word.split("=", 1)[1].split(",")]
        assert ("-march=native" in flags) == ("native" in variant.flags)
        assert ("-falign-functions=32" in flags) == ("align32" in variant.flags)


def test_link_time_optimisation_is_asked_for_in_each_systems_way():
    variant, version = Variant(flags=("lto",)), Version.parse("18.6")
    assert "-Db_lto=true" in configuring(recipe(version, variant, MESON)).argv
    flags = dict(configuring(recipe(version, variant, CONFIGURE)).environment)["CFLAGS"]
    assert flags.split() == ["-O2", "-flto=auto"]


def test_what_is_for_gcc_alone_is_not_given_to_clang():
    old = Version.parse("8.3.23")
    assert "no-aggressive-loop-optimizations" in {q.name for q in recipe(old, Variant()).quirks}
    by_clang = recipe(old, Variant(compiler=Compiler.CLANG))
    assert dict(configuring(by_clang).environment)["CFLAGS"] == "-O2"


def test_configure_is_given_block_sizes_only_where_it_has_such_options():
    with_options = [
        str(version)
        for version in VERSIONS
        if "--with-blocksize=8" in words(recipe(version, Variant(), CONFIGURE))
    ]
    assert with_options == [str(version) for version in VERSIONS[2:]]
    assert VERSIONS[2] == Version.parse("8.4.0")


@given(known)
def test_configure_tracks_headers_and_every_build_goes_through_ccache_at_one_optimisation(version):
    for system in systems(version):
        first = configuring(recipe(version, Variant(), system))
        environment = dict(first.environment)
        assert environment["CC"] == "ccache gcc"
        if system is CONFIGURE:
            assert "--enable-depend" in first.argv
            assert environment["CFLAGS"].split()[0] == "-O2"
        else:
            assert {"-Dbuildtype=debugoptimized", "-Ddebug=false"} <= set(first.argv)
            assert "-Db_staticpic=false" in first.argv


@given(known, variants)
def test_everything_is_installed_below_the_stage_and_nowhere_else(version, variant):
    for system in systems(version):
        steps = recipe(version, variant, system).steps
        installing = [s for s in steps if "install" in s.argv]
        assert installing
        assert all({"DESTDIR={stage}", "--destdir={stage}"} & set(s.argv) for s in installing)


@given(known, variants)
def test_no_step_is_a_shell_line(version, variant):
    for system in systems(version):
        for step in recipe(version, variant, system).steps:
            assert step.argv[0] not in {"sh", "bash", "env"}
            texts = [] if step.argv[0] == "sed" else step.argv
            assert not any(set(argument) & set(";|&<>$`*\n") for argument in texts)


def test_a_make_visits_the_generated_headers_before_what_includes_them():
    names = [step.name for step in recipe(Version.parse("13.16"), Variant()).steps]
    order = ["src/backend generated-headers", "src/port all", "src/common all", "src/backend all"]
    places = [names.index(f"make {what}") for what in order]
    assert places == sorted(places)


# --- the digest ----------------------------------------------------------------------------


@given(known, variants, known, variants)
def test_recipes_share_a_digest_only_when_they_are_the_same(one, of_one, other, of_other):
    same = (one, of_one) == (other, of_other)
    assert (recipe(one, of_one).digest == recipe(other, of_other).digest) == same


def test_each_build_system_has_a_digest_of_its_own():
    version = Version.parse("18.6")
    digests = {recipe(version, Variant(), system).digest for system in systems(version)}
    assert len(digests) == 2


def test_a_quirk_changes_the_digest_but_its_reason_and_link_do_not():
    plan = recipe(Version.parse("18.6"), Variant())
    reworded = tuple(
        q.model_copy(update={"because": "else", "see": "https://example.org"}) for q in plan.quirks
    )
    assert plan.quirks
    assert replace(plan, quirks=reworded).digest == plan.digest
    assert replace(plan, quirks=plan.quirks[1:]).digest != plan.digest


def test_a_flag_or_a_variable_of_any_step_changes_the_digest():
    plan = recipe(Version.parse("13.16"), Variant())
    for number, step in enumerate(plan.steps):
        for changed in (
            replace(step, argv=(*step.argv, "-x")),
            replace(step, environment=(*step.environment, ("CFLAGS", "-O3"))),
        ):
            steps = (*plan.steps[:number], changed, *plan.steps[number + 1 :])
            assert replace(plan, steps=steps).digest != plan.digest


def test_the_recipe_of_pgbench_alone_makes_pgbench_and_no_server():
    plan, whole = client_recipe(Version.parse("18.6")), recipe(Version.parse("18.6"), Variant())
    made = [word for step in plan.steps if step.name == "ninja" for word in step.argv]
    assert made[4:] == ["src/bin/pgbench/pgbench"]
    assert plan.programs == ("pgbench",)
    assert [step.name for step in plan.steps] == [step.name for step in whole.steps]
    assert plan.digest != whole.digest


@given(known, variants)
def test_no_recipe_names_a_path_of_this_machine(version, variant):
    for argument in words(recipe(version, variant)):
        assert argument.startswith("--prefix=/opt/pgsql") or not argument.startswith("/")
        assert str(Path.home()) not in argument
        assert str(Path.cwd()) not in argument


def test_the_option_for_documentation_is_added_where_it_is_missing(tmp_path):
    (quirk,) = [one for one in load_table().quirk if one.name == "docs-without-option"]
    (edit,) = quirk.edits
    path = tmp_path / edit.file
    for before, added in (("option('a')\n", True), ("option('docs', 'x')\noption('a')\n", False)):
        path.write_text(before)
        subprocess.run(["sed", "-i", "-e", edit.sed, str(path)], check=True)
        assert path.read_text() == before + "option('docs', type: 'feature')\n" * added
