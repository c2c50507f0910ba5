"""Which functions a patch changes, read from the C sources of both sides."""

from __future__ import annotations

import pytest

from base.build import Origin
from benchmarks.counted.callgrind import Profile
from landspeed.profiling import edited
from landspeed.profiling.edited import EditedFunctions, edited_functions, executed_of, functions
from tests.kits.builds.sourcekit import GitUpstream, Harness, release
from tests.kits.made_up.stand_ins import made_up_build

SCAN = """
#define LOOP(x) \\
    do { x; } while (0)

typedef struct Scan { int depth; } Scan;

static int  next_tuple(Scan *scan);

/*
 * fetch(a, b) -- the next tuple
 */
static int
fetch(Scan *scan, bool (*done) (Scan *),
      int depth)
{
    /* be { careful */
    if (done(scan))
    {
        return '}';
    }
    return depth;   // for now
}

int
next_tuple(Scan *scan)
{
    elog(DEBUG1, "/* no comment { */");
    return fetch(scan, NULL, 1);
}
"""


def test_functions_are_found_with_bodies_without_comments() -> None:
    found = dict(functions(SCAN))
    assert list(found) == ["fetch", "next_tuple"]
    assert found["fetch"] == "if (done(scan)) { return '}'; } return depth;"
    assert "/* no comment { */" in found["next_tuple"]


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        ({"scan.c": SCAN.replace("for now", "for ever")}, []),
        ({"scan.c": SCAN.replace("return depth", "return depth + 1")}, ["fetch"]),
        ({"scan.c": "", "fetch.c": SCAN}, []),
        ({"scan.c": SCAN + "\nint\nmore(void)\n{\n\treturn 1;\n}\n"}, ["more"]),
        ({"scan.c": SCAN, "README": "int\nmore(void)\n{\n\treturn 1;\n}\n"}, []),
    ],
    ids=["a comment", "a statement", "moved to another file", "a new function", "no C"],
)
def test_edited_functions_are_those_whose_statements_differ(tmp_path, after, changed) -> None:
    upstream = GitUpstream(tmp_path / "postgres")
    (upstream.directory / "scan.c").write_text(SCAN)
    upstream.commit("19devel", "before")
    upstream.git("branch", "base")
    for name, text in after.items():
        (upstream.directory / name).write_text(text)
    upstream.commit("19devel", "after")
    sources = Harness(tmp_path).sources(
        release("17.0", "2024-09-26"), order=("git",), upstream=str(upstream.directory)
    )
    before, now = (sources.resolve(ref) for ref in ("base", "master"))
    assert edited_functions(sources, before.origin.tree, now) == changed


def test_functions_are_executed_or_not_or_inlined(monkeypatch) -> None:
    ran = Profile(own={"ExecScan.isra.0": 12.0, "main": 1.0}, edges={})
    monkeypatch.setattr(edited, "kept_profile", lambda paths, one: ran if one == "a" else None)
    symbols = "0 T ExecScan\n0 t ExecReScan.cold\n0 T main\n"
    monkeypatch.setattr(edited, "printed", lambda *_: symbols)
    build = made_up_build(
        "19devel-bs8", Origin(release=None, commit=None, tree="a" * 40, date="2026-01-01")
    )
    names = ["ExecScan", "ExecReScan", "ExecScanFetch"]
    assert executed_of(None, build, names, ["a", "b"]) == EditedFunctions(  # type: ignore[arg-type]
        executed=("ExecScan",), unguarded=("ExecReScan",), inlined=("ExecScanFetch",)
    )
