"""A search that several machines share: what each job is given, and what it may hand in."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.build import Variant
from base.errors import RecordError, UsageError
from benchmarks.workloads.scenario import Mode
from landspeed.atlas.search import AtlasQuestion, KnownLevels
from landspeed.bisect.commit_range import Candidate, CommitRange, RangeKind
from landspeed.bisect.journal import Event, Journal, read_journal
from landspeed.farm.acceptance import Assigned, assigned_by_name, parse_assigned, shorten
from landspeed.farm.atlas_jobs import atlas_outputs
from landspeed.farm.merge import is_journal, is_result, merge_results, result_files
from landspeed.session.target import Target

INPUTS = {"machine": "hosted", "epoch": "e", "variant": "bs8", "toolchain": "t"}
PART = "atlas/atlas-12345678-1-0a1b2c3d.json"


def commit(number: int) -> str:
    return f"{random.Random(number).getrandbits(160):040x}"


def jobs(commits: int, machines: int = 8) -> dict[str, Any]:
    """The outputs for a search of so many commits of which nothing is known."""
    candidates = [
        Candidate(ref=commit(at), name=commit(at)[:10], date="", subject=str(Mode.READ_ONLY))
        for at in range(commits + 1)
    ]
    found = CommitRange(kind=RangeKind.COMMITS, candidates=tuple(candidates))
    resolve = lambda ref: SimpleNamespace(origin=SimpleNamespace(commit=ref))  # noqa: E731
    session = SimpleNamespace(
        builder=SimpleNamespace(sources=SimpleNamespace(resolve=resolve)),
        machine=SimpleNamespace(name="hosted"),
    )
    question = AtlasQuestion(
        last=commits, series=("a",), size=0.01, spacing=100, build=100.0, count=10.0
    )
    atlas = SimpleNamespace(
        request=SimpleNamespace(session=session, commits=found),
        question=question,
        known=KnownLevels,
        current=lambda _: [],
    )
    ends = [Target(ref=candidates[at].ref, variant=Variant()) for at in (0, -1)]
    return atlas_outputs(atlas, (ends[0], ends[1]), machines)  # type: ignore[arg-type]


def test_a_job_is_assigned_the_commits_of_its_share_and_the_parent_of_the_first():
    facts = jobs(1000)
    assert facts["shares_count"] == 8
    assert facts["counter"] == "hosted"
    assigned = parse_assigned(json.dumps(facts["assigned"]))
    assert list(assigned) == [f"results-atlas-{number}" for number in range(1, 9)]
    places = {commit(at): at for at in range(1001)}
    ends = [tuple(places[ref] for ref in one["share"].split("..")) for one in facts["shares"]]
    assert [end + 1 for _, end in ends] == [*(begin for begin, _ in ends[1:]), 1001]
    for (first, last), one in zip(ends, assigned.values(), strict=True):
        wanted = range(max(0, first - 1), last + 1)
        assert sorted(one.refs or ()) == sorted(shorten(commit(at)) for at in wanted)


def test_a_plan_fits_into_a_variable_of_the_environment_or_is_refused():
    # https://man7.org/linux/man-pages/man2/execve.2.html: 32 pages for one string
    whole = json.dumps(jobs(8000, machines=250)["assigned"])
    assert len(f"ASSIGNED={whole}") < 32 * 4096
    with pytest.raises(UsageError, match="at most 8,000 commits"):
        jobs(8001)


def write(results: Path, name: str, *events: Event, **inputs: str) -> Path:
    journal = Journal(path=results / name, inputs=INPUTS | inputs)
    for event in events:
        journal.add(event)
    return results / name


def built(number: int, server: str = "s") -> Event:
    return Event(event="built", candidate=commit(number), server=server, seconds=1.0)


def test_a_job_hands_in_no_event_about_a_commit_of_another_share(tmp_path, caplog):
    job = Assigned(machine="hosted", refs=frozenset(shorten(commit(at)) for at in (3, 4)))
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    skipped = Event(event="skipped", candidate=commit(5), reason="it is said not to build")
    write(theirs, PART, built(3), skipped)
    with pytest.raises(RecordError, match="was refused"):
        job.require(theirs / PART, PART)
    assert merge_results(theirs, ours, accept=job.require) == 0
    assert "was not asked to measure" in caplog.text
    (theirs / PART).unlink()
    write(theirs, PART, built(3), machine="bench-1")
    assert merge_results(theirs, ours, accept=job.require) == 0
    (theirs / PART).unlink()
    write(theirs, PART, built(3), built(4))
    assert merge_results(theirs, ours, accept=job.require) == 1
    assert assigned_by_name("results-atlas-3", "hosted") == Assigned(machine="hosted")


def test_a_damaged_journal_of_a_share_stays_out(tmp_path, caplog):
    path = tmp_path / "theirs" / PART
    path.parent.mkdir(parents=True)
    path.write_text('{"schema": 1, "inputs": {}, "events": [{"event": "built", "seconds": -1}]}')
    assert merge_results(tmp_path / "theirs", tmp_path / "ours") == 0
    assert PART in caplog.text
    assert not (tmp_path / "ours" / PART).exists()


def test_only_journals_are_shared_of_the_directory_of_searches(tmp_path):
    path = write(tmp_path, PART, built(1))
    page = path.parent / "a-b"
    page.mkdir()
    (page / "index.html").write_text("")
    (page / "report.json").write_text("{}")
    (path.parent / "index.html").write_text("")
    assert list(result_files(tmp_path)) == [PART]
    assert is_journal(PART)
    assert not is_result("atlas/a-b/report.json")


def test_whoever_opens_a_search_knows_what_all_parts_say_in_whatever_order_they_came(tmp_path):
    parts = {"0000000a": built(1, "x"), "0000000b": built(2), "0000000c": built(1, "y")}
    seen = set()
    for number, order in enumerate(permutations(parts)):
        results = tmp_path / str(number)
        for name in order:
            other = tmp_path / f"{number}-{name}"
            with Journal.open(other / "atlas", "atlas", INPUTS, part=name) as journal:
                assert (journal.events, journal.of("built")) == ([], [])
                journal.add(parts[name])
            assert merge_results(other, results) == 1
        with Journal.open(results / "atlas", "atlas", INPUTS) as whole:
            assert whole.events == []
            whole.add(built(9))
            seen.add(tuple(event.candidate for event in whole.of("built")))
            assert read_journal(whole.path)[1] == [built(9)]  # of others nothing is written again
        with Journal.open(results / "atlas", "atlas", INPUTS, part="0000000d") as part:
            assert (part.events, len(part.others)) == ([], 4)
        with Journal.open(results / "atlas", "atlas", INPUTS, fresh=True) as anew:
            assert anew.of("built") == []
    assert len(seen) == 1
