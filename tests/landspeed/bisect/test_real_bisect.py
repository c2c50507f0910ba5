"""A real bisection: 64 made-up commits on a real release, one of which costs the executor 1 %.

Counted, not timed, so that it says the same on any machine. Commits that do not build, that
change comments and documentation only, or a header, are between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from base.build import Build, Variant
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.metrics import metric_named
from benchmarks.workloads.scenario import CacheState, Cell, Mode, Protocol, Scenario, Tier
from builders.builder import Builder
from landspeed.bisect.commit_range import range_between
from landspeed.bisect.model import Culprit, NoCulprit
from landspeed.bisect.report_build import answer_of, report_of
from landspeed.bisect.report_markdown import markdown
from landspeed.bisect.run import BisectResult, bisect
from landspeed.bisect.search import BisectRequest
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session
from tests.conftest import DATA, make_project
from tests.kits.builds.history_kit import Edit, History, append, builder_of, function, substitute

pytestmark = pytest.mark.postgres

COUNT, PLANTED = 64, 41
BREAKS, MENDS = 31, 34
EXECUTOR, BROKEN = "src/backend/executor/execMain.c", "src/backend/utils/adt/bool.c"
# What a transaction of -S costs on 18 is about 40,000 instructions; a turn of the loop is four.
WORK, MORE, LESS = 300, 400, 200
_LOOP = """
static volatile int landspeed_sink;

static void
landspeed_work(int turns)
{
\tfor (int i = 0; i < turns; i++)
\t\tlandspeed_sink = i;
}
"""
_BEGIN = "void\nstandard_ExecutorRun("
_CALL = "\tAssert(queryDesc != NULL);\n"


def work(turns: int) -> Mapping[str, Edit]:
    """The first commit: the executor works in vain, so that there is something to save, too."""

    def edit(text: str) -> str:
        head, begin, body = text.partition(_BEGIN)
        assert begin
        return (
            head
            + _LOOP
            + "\n"
            + begin
            + substitute("{\n", f"{{\n\tlandspeed_work({turns});\n")(body)
        )

    return {EXECUTOR: edit}


def change(before: int, after: int) -> Mapping[str, Edit]:
    """The planted commit."""
    return {EXECUTOR: substitute(f"landspeed_work({before})", f"landspeed_work({after})")}


def ordinary(number: int) -> Mapping[str, Edit]:
    """What commit *number* changes, if it is none of the special ones."""
    if number == BREAKS:
        return {BROKEN: append("\nint landspeed_broken(\n")}
    if number == MENDS:
        return {BROKEN: substitute("\nint landspeed_broken(\n", "")}
    match number % 4:
        case 0:
            return {"doc/src/sgml/mvcc.sgml": append("\n")}
        case 1:
            return {
                "src/backend/commands/vacuum.c": append(function(f"landspeed_{number}", number))
            }
        case 2:
            return {"src/backend/executor/nodeSeqscan.c": append(f"\n/* remark {number} */\n")}
        case _:
            header = "src/include/optimizer/geqo.h"
            return {header: append(f"\nextern int landspeed_{number}(void);\n")}


def make_history(history: History, tree: str) -> None:
    """``0`` … ``64`` with the step at 41; the same without it; and then an improvement."""
    history.begin(tree)
    history.commit("0", work(WORK))
    for number in range(1, COUNT + 1):
        edits = change(WORK, MORE) if number == PLANTED else ordinary(number)
        history.commit(str(number), edits)
    history.git("update-ref", "refs/heads/planted", history.tips[str(COUNT)])
    go_back(history, str(PLANTED - 1))
    for number in range(PLANTED + 1, COUNT + 1):
        history.commit(f"{number} without", ordinary(number))
    history.commit("less", change(WORK, LESS))
    for number in range(1, 5):
        history.commit(f"less {number}", ordinary(100 + number))


def go_back(history: History, name: str) -> None:
    """Have the next commit come after the one called *name*."""
    history.git("read-tree", history.tips[name])
    history.tips[f"{name} again"] = history.tips[name]


@pytest.fixture(scope="module")
def made(
    newest_build: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Session, History]]:
    root = tmp_path_factory.mktemp("bisect")
    root.chmod(0o755)
    shared = Builder.open(Paths.find())
    history = History(root / "history.git", shared.paths.sources)
    make_history(history, newest_build.origin.tree)
    paths = Paths(cache=root / "cache", project=make_project(root / "project"))
    session = Session(paths=paths)
    session.__dict__["builder"] = builder_of(history, shared, paths.cache)
    session.builder.sources.resolve("master")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANDSPEED_DATA", str(DATA))
        yield session, history


def bisected(
    made: tuple[Session, History], pgbench_build: Build, good: str, bad: str, **more: bool
) -> BisectResult:
    session, history = made
    ends = (history.tips[good], history.tips[bad])
    commits = range_between(session.builder.sources.history, *ends)
    scenario = Scenario(mode=Mode.READ_ONLY, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=1)
    return bisect(
        BisectRequest(
            sampler=Sampler(
                session=session,
                cell=Cell(scenario=scenario, clients=1, profile="default", buffers=CacheState.WARM),
                metric=metric_named("instructions"),
                pgbench=Pgbench(build=pgbench_build),
                seconds=0,
            ),
            commits=commits,
            variant=Variant(),
            size=0.002,
            budget=3600.0,
            **more,
        )
    )


def told(found: BisectResult, made: tuple[Session, History]) -> str:
    history = made[0].builder.sources.history
    text = markdown(report_of(found, history, "landspeed bisect"))
    print(text)
    return text


def test_the_commit_that_costs_one_per_cent_is_named_among_64(made, pgbench_build):
    found = bisected(made, pgbench_build, "0", str(COUNT))
    text = told(found, made)
    decision = found.conclusion.decision
    assert isinstance(decision, Culprit)
    assert (decision.first, decision.last) == (PLANTED, PLANTED)
    assert 0.005 < found.conclusion.progress.change < 0.02
    assert answer_of(found) == "culprit"
    assert found.verification is not None
    assert found.verification.verdict == "SLOWER"
    # two ends and ⌈log2 64⌉; one more since what lies in the middle does not build
    assert len(found.journal.of("run")) <= 2 + 6 + 1
    assert found.journal.of("skipped")
    assert "execMain.c" in text
    assert "| `standard_ExecutorRun` |" in text
    records = found.request.sampler.session.records
    assert records.get(str(found.journal.of("run")[0].record)).sample.instructions > 10_000


def test_without_that_commit_there_is_no_culprit(made, pgbench_build):
    found = bisected(made, pgbench_build, "0", f"{COUNT} without")
    told(found, made)
    assert isinstance(found.conclusion.decision, NoCulprit)
    assert len(found.journal.of("run")) == 2


def test_an_improvement_of_one_per_cent_is_found_likewise(made, pgbench_build):
    ends = f"{COUNT - 3} without", "less 4"
    found = bisected(made, pgbench_build, *ends, improvement=True)
    told(found, made)
    assert answer_of(found) == "culprit"
    decision = found.conclusion.decision
    assert isinstance(decision, Culprit)
    assert found.request.commits[decision.last].subject == "less"
    assert found.verification is not None
    assert found.verification.verdict == "FASTER"
