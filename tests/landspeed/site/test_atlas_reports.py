from dataclasses import replace
from pathlib import Path

import pytest

from base.files import canonical_json
from base.paths import Paths
from base.typed import to_json
from landspeed.atlas.report import AtlasReport, CommitChange, FunctionChange, WorkloadChange
from landspeed.bisect.commit_range import Candidate
from landspeed.site import atlas_pages
from landspeed.site.atlas_reports import atlas_reports, found_by_commit


def candidate(name: str) -> Candidate:
    return Candidate(ref=name * 20, name=name * 5, date="2025-01-01", subject="Change it")


def workload(name: str, before: float, after: float, kind: str = "") -> WorkloadChange:
    functions = (FunctionChange(function="ExecScan", change=after - before),)
    return WorkloadChange(
        workload=name, family="scans", before=before, after=after, functions=functions, kind=kind
    )


SEARCH = AtlasReport(
    good=candidate("aa"),
    bad=candidate("ff"),
    commits=300,
    candidates=250,
    spacing=250,
    size=0.01,
    variant="bs8",
    workloads=("seq-scan", "like"),
    complete=True,
    changes=(
        CommitChange(
            commit=candidate("cc"),
            parent=candidate("bb"),
            among=1,
            workloads=(workload("seq-scan", 100, 102, "code"), workload("like", 100, 80, "plan")),
        ),
    ),
    open=(),
    skipped=(),
    refused=(),
    builds=9,
    counts=18,
    build_seconds=1.0,
    count_seconds=1.0,
    machine="m",
    command="landspeed bisect aa ff --all",
)


def write(reports: Path, directory: str, report: AtlasReport) -> None:
    (reports / directory).mkdir(parents=True)
    (reports / directory / "report.json").write_text(canonical_json(to_json(report)))


def test_what_searches_found_is_listed_by_commit_the_largest_change_first(tmp_path: Path) -> None:
    write(tmp_path, "aa-ff", SEARCH)
    changes = (
        replace(SEARCH.changes[0], workloads=(workload("like", 9, 8), workload("brin", 100, 103))),
        replace(SEARCH.changes[0], commit=candidate("dd"), workloads=(workload("gin", 2, 1),)),
    )
    write(tmp_path, "zz", replace(SEARCH, good=candidate("00"), commits=40, changes=changes))
    found = found_by_commit(tmp_path)
    listed = {
        ref[:2]: [(row["workload"], row["ratio"], row["kind"], row["page"]) for row in rows]
        for ref, rows in found.items()
    }
    assert listed == {
        "cc": [
            ("like", 0.8, "plan", "atlas/aa-ff/index.html"),
            ("brin", 1.03, "", "atlas/zz/index.html"),
            ("seq-scan", 1.02, "code", "atlas/aa-ff/index.html"),
        ],
        "dd": [("gin", 0.5, "", "atlas/zz/index.html")],
    }
    assert found["dd" * 20][0]["functions"] == ["ExecScan"]
    assert found["dd" * 20][0]["range"] == "0000000000 to ffffffffff"


def test_commits_that_cannot_be_told_apart_are_not_said_to_have_changed_anything(
    tmp_path: Path,
) -> None:
    write(tmp_path, "aa-ff", replace(SEARCH, changes=(replace(SEARCH.changes[0], among=2),)))
    assert found_by_commit(tmp_path) == {}


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"good": 1}'])
def test_a_report_that_cannot_be_read_is_named_and_the_others_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    write(tmp_path, "aa-ff", SEARCH)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "report.json").write_bytes(content)
    assert [*found_by_commit(tmp_path)] == ["cc" * 20]
    assert "bad/report.json" in "".join(capsys.readouterr())


def test_without_searches_nothing_is_found(tmp_path: Path) -> None:
    assert found_by_commit(tmp_path / "atlas") == {}


def test_a_report_is_listed_once_its_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    paths = Paths(cache=tmp_path, project=tmp_path)
    monkeypatch.setattr(atlas_pages, "report_page", killed)
    with pytest.raises(KeyboardInterrupt):
        atlas_pages.write_atlas_pages(SEARCH, paths)
    monkeypatch.undo()
    assert not list(atlas_reports(paths.results / "atlas"))
    page = atlas_pages.write_atlas_pages(SEARCH, paths)
    assert [directory for directory, _ in atlas_reports(paths.results / "atlas")] == [
        page.parent.name
    ]
