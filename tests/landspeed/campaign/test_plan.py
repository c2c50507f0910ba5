"""What `landspeed plan` prints of a recipe, and the identity of what it would build."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from base.build import Variant
from base.paths import Paths
from builders.builder import Builder
from builders.recipe_table import BuildSystem
from builders.sandbox import Host
from builders.store import Store
from landspeed.campaign.plan import BuildPlan
from landspeed.cli.plan import build_plan_text
from landspeed.session.target import Target
from tests.kits.builds.buildkit import TOOLCHAIN, PretendedSources

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


@dataclass(frozen=True, kw_only=True)
class KnownHost(Host):
    """A Host whose toolchain is the same wherever this is tested."""

    def toolchain(self, variant: Variant) -> dict[str, str]:
        return dict(TOOLCHAIN)


def planned(
    word: str, version: str, system: BuildSystem | None = None, *, is_here: bool = True
) -> BuildPlan:
    """Plan the build of *word* on a machine that is not this one."""
    paths = Paths(cache=Path("/cache"), project=Path("/project"))
    builder = Builder(
        paths=paths,
        sources=PretendedSources(version=version, is_here=is_here),  # type: ignore[arg-type]
        sandbox=KnownHost(ccache=paths.ccache, jobs=2),
        store=Store(root=paths.store, limit=0),
    )
    return BuildPlan.of(builder, Target.parse(word, Variant()), system)


@pytest.mark.parametrize(
    ("name", "word", "version", "system"),
    [
        ("plan-8.3.23-bs4", "8.3.23:bs4", "8.3.23", None),
        ("plan-13.16", "13.16", "13.16", None),
        ("plan-18.6", "18.6", "18.6", None),
        ("plan-18.6-bs4-wal16", "18.6:bs4-wal16", "18.6", None),
        ("plan-8.3.23-bs8-seg2-clang", "8.3.23:bs8-seg2-clang", "8.3.23", None),
        ("plan-13.16-clang-O3-native-lto", "13.16:bs8-clang-O3-native-lto", "13.16", None),
        ("plan-18.6-seg4-clang-O3-native-lto", "18.6:bs8-seg4-clang-O3-native-lto", "18.6", None),
        ("plan-18.6-configure", "18.6", "18.6", BuildSystem.CONFIGURE),
    ],
)
def test_a_plan_reads_as_it_did(name, word, version, system):
    """Rewrite the golden files with LANDSPEED_GOLDEN=write, and read the difference."""
    path = GOLDEN / f"{name}.txt"
    text = build_plan_text(planned(word, version, system)) + "\n"
    if os.environ.get("LANDSPEED_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_a_plan_of_a_source_that_is_not_here_has_all_but_its_identity():
    here, elsewhere = planned("18.6", "18.6"), planned("18.6", "18.6", is_here=False)
    assert elsewhere.recipe == here.recipe
    assert elsewhere.identifier is elsewhere.origin is elsewhere.prefix is None
    assert "not on this machine yet" in build_plan_text(elsewhere)


def test_a_plan_of_a_commit_goes_by_what_is_in_its_source(monkeypatch):
    here: list[str] = []
    monkeypatch.setattr(
        PretendedSources,
        "hashes",
        lambda self, source, paths: "".join(set(paths) & set(here)),
        raising=False,
    )
    assert planned("16devel", "16devel").recipe.system == "configure"
    here.append("src/tools/rcgen")
    assert planned("16devel", "16devel").recipe.system == "meson"


def test_a_plan_names_every_quirk_with_its_reason_and_link():
    plan = planned("18.6", "18.6")
    text = build_plan_text(plan)
    for quirk in plan.recipe.quirks:
        assert f"{quirk.name}: {quirk.because}" in text
        assert quirk.see in text


def identity(*, version: str = "18.6", tree: str = "a" * 40, **toolchain: str) -> str:
    """The identifier of a default build, on a machine with another *toolchain*."""

    class OtherHost(KnownHost):
        def toolchain(self, variant: Variant) -> dict[str, str]:
            return TOOLCHAIN | toolchain

    paths = Paths(cache=Path(f"/cache/{len(toolchain)}"), project=Path("/project"))
    sources = PretendedSources(version=version)
    source = sources.resolve(version)
    maker = Builder(
        paths=paths,
        sources=sources,  # type: ignore[arg-type]
        sandbox=OtherHost(ccache=paths.ccache, jobs=len(toolchain) + 1),
        store=Store(root=paths.store, limit=0),
    )
    source = replace(source, origin=replace(source.origin, tree=tree))
    return maker.identifier(source, maker.recipe(source, Variant()))


def test_an_identity_changes_with_the_tree_and_every_part_of_the_toolchain():
    same = identity()
    assert identity(tree="b" * 40) != same
    for part in TOOLCHAIN:
        assert identity(**{part: "another"}) != same


def test_an_identity_is_not_of_the_cache_or_the_number_of_jobs():
    assert identity() == identity(cc=TOOLCHAIN["cc"])


def test_an_identity_begins_with_what_a_person_looks_for():
    assert identity().startswith("18.6-bs8-")
