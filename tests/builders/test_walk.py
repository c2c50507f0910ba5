"""Walking commits: what a kept tree installs is, byte for byte, what a clean build installs.

One long walk over commits made on top of a real release, each built both ways (minutes).
$LANDSPEED_WALK names the releases, ``13`` if it is not set: ``13 18`` walks with meson as well.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import BuildError
from base.files import remove_tree
from base.paths import Paths
from builders.builder import Builder
from builders.recipe import Recipe
from builders.sandbox import Host
from builders.sandbox.steps import Workplace
from tests.kits.builds.history_kit import History, builder_of
from tests.kits.builds.walk_steps import (
    BROKEN,
    BUILD_FILES,
    CORRUPTED,
    FOLLOWED,
    JUMP_BACK,
    MENDED,
    ONE_FILE,
    OUTDATED,
    STEP_BACK,
    UNCACHED,
    make_walk,
)

# it compiles and measures nothing: beside the servers of the others
pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("walk")]

RELEASES = os.environ.get("LANDSPEED_WALK", "13").split()
Outcome = Build | BuildError


@dataclass(frozen=True, kw_only=True)
class CachedConfigure(Host):
    """This machine, with a file in which configure keeps its answers: autoconf's own cache.

    They are the same at every commit. Without it a walk takes a fifth more CPU time.
    """

    answers: Path

    def _workplace(self, recipe: Recipe, *, source: Path, stage: Path, log: Path) -> Workplace:
        place = super()._workplace(recipe, source=source, stage=stage, log=log)
        site = self.answers.with_suffix(".site")
        site.write_text(f"cache_file={self.answers}\n")
        return replace(place, variables={**place.variables, "CONFIG_SITE": str(site)})


def with_answers(builder: Builder, answers: Path, ccache: Path | None = None) -> Builder:
    """*builder* with configure's *answers*, and with another *ccache* if one is given."""
    host = builder.sandbox
    return replace(
        builder,
        sandbox=CachedConfigure(ccache=ccache or host.ccache, jobs=host.jobs, answers=answers),
    )


@dataclass(frozen=True, kw_only=True)
class Walked:
    """What became of each stop of a walk: built in the kept tree, and clean; and which went on."""

    kept: dict[str, Outcome]
    clean: dict[str, Outcome]
    continued: frozenset[str]

    def told(self) -> str:
        """A line for each stop."""
        return "\n".join(map(self._line, self.kept))

    def _line(self, name: str) -> str:
        kept, clean = self.kept[name], self.clean[name]
        same = "same" if digest(kept) == digest(clean) else "DIFFERS"
        how = "continued" if name in self.continued else "anew"
        return f"{same}: {name}: {how} {cost(kept)}, clean {cost(clean)}"


def outcome(builder: Builder, commit: str) -> Outcome:
    """The Build of *commit*, made now, or why there is none."""
    remove_tree(builder.store.root)
    source = builder.sources.resolve(commit)
    try:
        return builder.build(source, Variant(), progress=lambda _: None)
    except BuildError as error:
        return error


def kept_tree(builder: Builder) -> Path:
    """The one tree that *builder* keeps."""
    (directory,) = builder.paths.trees.glob("kept/*/")
    return directory / "tree"


def corrupt(tree: Path) -> None:
    """Change an object and a generated file, and make them look as old as they were."""
    for name in ("xact.c.o", "xact.o", "fmgroids.h"):
        for path in [p for p in tree.rglob(f"*{name}") if not p.is_symlink()]:
            status = path.stat()
            path.write_bytes(path.read_bytes()[:-1] + b"!")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def without_ccache(builder: Builder, directory: Path) -> Builder:
    """*builder* with a ccache whose own configuration disables it."""
    directory.mkdir()
    (directory / "ccache.conf").write_text("disable = true\n")
    return with_answers(builder, directory.with_suffix(".answers"), directory)


def is_continued(builder: Builder, commit: str) -> bool:
    """Whether the last build of *commit* went on in the tree as it was: nothing was configured."""
    source = builder.sources.resolve(commit)
    plan = builder.recipe(source, Variant())
    log = builder.paths.cache / "logs" / f"{builder.identifier(source, plan)}.log"
    configuring = next(step for step in plan.steps if step.configures)
    return not any(
        line.startswith("$ ") and configuring.argv[-1] in line
        for line in log.read_text(errors="replace").splitlines()
    )


def cost(one: Outcome) -> str:
    """CPU seconds as text."""
    return f"{one.cpu_seconds:.1f} CPU s" if isinstance(one, Build) else "failed"


def digest(one: Outcome) -> str | None:
    """What tells two servers apart; None where there is none."""
    return one.digest if isinstance(one, Build) else None


@pytest.fixture(scope="module", params=RELEASES)
def walked(request, tmp_path_factory) -> Walked:
    """The whole walk on top of one release."""
    root = tmp_path_factory.mktemp("walk")
    shared = Builder.open(Paths.find())
    release = shared.sources.resolve(request.param)
    system = shared.recipe(release, Variant()).system
    history = History(root / "history.git", shared.paths.sources)
    stops = make_walk(history, release.origin.tree, system)
    walker = with_answers(builder_of(history, shared, root / "kept"), root / "kept.answers")
    uncached = without_ccache(walker, root / "disabled")
    clean_builder = replace(builder_of(history, shared, root / "clean"), keeps_trees=False)
    cleaner = with_answers(clean_builder, root / "clean.answers")
    kept: dict[str, Outcome] = {}
    clean: dict[str, Future[Outcome]] = {}
    continued = set()
    # the clean build of a stop is made beside the kept one of the next, from the same ccache
    with ThreadPoolExecutor(max_workers=1) as beside:
        for name, commit in stops.items():
            if name == CORRUPTED:
                corrupt(kept_tree(walker))
            kept[name] = outcome(uncached if name == UNCACHED else walker, commit)
            if is_continued(walker, commit):
                continued.add(name)
            known = next((other for other in clean if stops[other] == commit), None)
            clean[name] = clean[known] if known else beside.submit(outcome, cleaner, commit)
    walk = Walked(
        kept=kept,
        clean={name: future.result() for name, future in clean.items()},
        continued=frozenset(continued),
    )
    print(walk.told())
    return walk


def test_at_every_commit_the_installed_files_are_those_of_a_clean_build(walked):
    digests = [
        {name: one.digest for name, one in outcomes.items() if isinstance(one, Build)}
        for outcomes in (walked.kept, walked.clean)
    ]
    assert digests[0] == digests[1]
    assert walked.kept.keys() - digests[0].keys() == {BROKEN}


def test_most_commits_make_another_server_so_that_the_same_digest_says_something(walked):
    digests = {one.digest for one in walked.clean.values() if isinstance(one, Build)}
    assert len(digests) >= 6


def test_a_commit_that_does_not_compile_fails_in_both_and_shows_its_own_error(walked):
    for outcomes in (walked.kept, walked.clean):
        error = outcomes[BROKEN]
        assert isinstance(error, BuildError)
        assert "bool.c" in error.detail


def test_what_only_changes_sources_goes_on_and_what_is_uncertain_starts_anew(walked):
    assert walked.continued >= {ONE_FILE, FOLLOWED, STEP_BACK, UNCACHED}
    anew = {"begin", BUILD_FILES, MENDED, OUTDATED, JUMP_BACK, CORRUPTED}
    assert not walked.continued & anew


def test_a_changed_file_costs_a_small_part_of_a_clean_build_even_with_a_warm_ccache(walked):
    kept, clean = walked.kept[ONE_FILE], walked.clean[ONE_FILE]
    assert isinstance(kept, Build)
    assert isinstance(clean, Build)
    assert kept.cpu_seconds < clean.cpu_seconds / 2
