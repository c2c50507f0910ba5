"""Whether what configure and meson build is one server: what is compared, what counts as drift."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import BuildError, StorageError, UsageError
from landspeed.console.table import as_text
from landspeed.session.target import Target
from tests.build_systems.__main__ import main
from tests.build_systems.elf import Program
from tests.build_systems.systems import (
    Pair,
    cost_likenesses,
    likenesses,
    systems_failure,
    systems_table,
)
from tests.build_systems.traits import Traits
from tests.kits.builds.buildkit import a_build

SOURCE = """
extern int other(int);
int table[64];
static int helper(int x)
{
    int s = 0;
    for (int i = 0; i < x; i++) s += table[i & 63] * i;
    return s;
}
int answer(int x) { return helper(x) + other(x) + table[x & 63]; }
int more(int x) { return x ? answer(x - 1) * 3 : 1; }
int main(int argc, char **argv) { (void) argv; return more(argc); }
"""
OTHER = "int many[3]; int other(int x) { return many[x % 3] + x; }"
SAID = Traits(
    settings={"block_size": "8192", "jit": "off"},
    control={"Database block size": "8192"},
    configured={"CFLAGS": "-Wall -O2 -fwrapv", "CPPFLAGS": "-D_GNU_SOURCE"},
)

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")


def compiled(path: Path, *flags: str) -> Path:
    """A program at *path*, compiled with *flags*."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sources = [path.with_name(f"{path.name}-{number}.c") for number in (1, 2)]
    for source, text in zip(sources, (SOURCE, OTHER), strict=True):
        source.write_text(text)
    subprocess.run(["gcc", "-O2", *flags, *sources, "-o", path], check=True)
    for source in sources:
        source.unlink()
    return path


def server(prefix: Path, *flags: str, catalog: str = "pg_class") -> Build:
    """An installed server with one program, compiled with *flags*, and one text."""
    compiled(prefix / "bin" / "postgres", *flags)
    (prefix / "share").mkdir()
    (prefix / "share" / "postgres.bki").write_text(catalog)
    (prefix / "BUILD.json").write_text(str(prefix))
    return replace(a_build(prefix.name), prefix=prefix)


def compared(one: Build, other: Build, ours: Traits = SAID, theirs: Traits = SAID) -> Pair:
    target = Target.parse("18.6", Variant())
    return Pair(target=target, likenesses=likenesses(one, other, ours, theirs))


def drifted(pair: Pair) -> set[str]:
    return {one.what for one in pair.likenesses if not one.same}


# --- a program's own word ------------------------------------------------------------------


def test_a_program_tells_its_sections_and_functions_as_readelf_does(tmp_path):
    path = compiled(tmp_path / "program", "-fno-inline")
    seen = Program.read(path)
    assert {name for name, _ in seen.functions} >= {"main", "answer", "helper", "more", "other"}
    said = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    (text,) = (line.split() for line in said.stdout.splitlines() if " .text " in line)
    assert seen.sections[".text"] == int(text[text.index("PROGBITS") + 3], 16)
    assert 0 < sum(size for _, size in seen.functions) <= seen.sections[".text"]
    assert seen.objects["table", 256] == seen.objects["many", 12] == 1


def test_the_same_source_has_the_same_functions_only_by_the_same_flags(tmp_path):
    one = Program.read(compiled(tmp_path / "one"))
    again = Program.read(compiled(tmp_path / "again"))
    assert (again.functions, again.objects) == (one.functions, one.objects)
    for flags in (["-O0"], ["-fPIC", "-fno-inline"], ["-Os"]):
        assert Program.read(compiled(tmp_path / "other", *flags)).functions != one.functions


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(99)]
)
def test_what_is_no_program_is_one_clear_error(tmp_path, content):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(StorageError, match="cannot be read as a program"):
        Program.read(tmp_path / "text")


def test_a_program_that_is_cut_short_is_one_clear_error(tmp_path):
    whole = compiled(tmp_path / "program").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StorageError):
        Program.read(tmp_path / "half")


# --- two servers ---------------------------------------------------------------------------


def test_the_same_server_built_twice_is_the_same_in_everything(tmp_path):
    pair = compared(server(tmp_path / "configure"), server(tmp_path / "meson"))
    assert pair.same
    assert systems_failure([pair]) is None
    assert {one.what for one in pair.likenesses} >= {
        *("installed files", "settings", "sizes", "flags of code", "functions of postgres"),
        *("data of postgres", ".text of postgres", ".got of postgres"),
    }


def test_position_independent_code_is_drift(tmp_path):
    pair = compared(
        server(tmp_path / "configure"), server(tmp_path / "meson", "-fPIC", "-fno-inline")
    )
    assert "functions of postgres" in drifted(pair)
    error = systems_failure([pair])
    assert error is not None
    assert error.message == "configure and meson build 1 of 1 as different servers"
    assert "18.6:bs8 functions of postgres" in error.detail
    assert "only by meson: " in error.detail


def test_that_one_has_headers_to_compile_against_is_no_drift(tmp_path):
    one, other = server(tmp_path / "configure"), server(tmp_path / "meson")
    for name in ("include/libpq-fe.h", "lib/pkgconfig/libpq.pc", "lib/libpq.a", "lib/libpq.so"):
        (one.prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (one.prefix / name).touch()
    assert compared(one, other).same
    (one.prefix / "lib" / "libpqwalreceiver.so").touch()
    assert drifted(compared(one, other)) == {"installed files"}


def test_a_file_that_one_alone_installs_and_one_that_differs_are_drift_and_named(tmp_path):
    one, other = server(tmp_path / "configure"), server(tmp_path / "meson", catalog="pg_proc")
    (other.prefix / "share" / "more.sql").write_text("")
    pair = compared(one, other)
    assert drifted(pair) == {"installed files", "catalogs, time zones, scripts"}
    error = systems_failure([pair])
    assert error is not None
    assert "only by meson: share/more.sql" in error.detail
    assert "share/postgres.bki" in error.detail


def test_another_setting_size_or_flag_is_drift(tmp_path):
    one, other = server(tmp_path / "configure"), server(tmp_path / "meson")
    for changes, what in (
        ({"settings": {**SAID.settings, "jit": "on"}}, "settings"),
        ({"control": {}}, "sizes"),
        ({"configured": {"CFLAGS": "-O3 -fwrapv", "CPPFLAGS": "-D_GNU_SOURCE"}}, "flags of code"),
    ):
        assert drifted(compared(one, other, theirs=replace(SAID, **changes))) == {what}
    same = {"CFLAGS": "-fpch-deps -O2 -fwrapv -Wextra", "CPPFLAGS": "-D_GNU_SOURCE"}
    assert compared(one, other, theirs=replace(SAID, configured=same)).same


def test_what_a_transaction_costs_more_than_a_twentieth_of_a_percent_more_is_drift():
    near, far = cost_likenesses(
        {"read-only": 40_000.0, "read-write": 200_000.0},
        {"read-only": 40_016.0, "read-write": 199_800.0},
    )
    assert near.same
    assert near.meson == "40,016 (+0.0400%)"
    assert not far.same
    assert far.what == "instructions of a read-write transaction"
    assert far.differences == ("-0.100%",)


def test_the_table_has_a_line_for_each_and_one_that_was_not_built(tmp_path):
    pair = compared(server(tmp_path / "configure"), server(tmp_path / "meson", "-O0"))
    unbuilt = Pair(target=pair.target, error=BuildError("could not build PostgreSQL 18.6"))
    lines = as_text(systems_table([pair, unbuilt])).splitlines()
    assert lines[0].split() == ["target", "compared", "configure", "meson", "same"]
    assert len(lines) == 1 + len(pair.likenesses) + 1
    assert any("functions of postgres" in line and line.endswith("DRIFTED") for line in lines)
    assert lines[-1].split() == ["18.6:bs8", "-", "-", "-", "FAILED"]
    assert "could not build" in str(systems_failure([unbuilt]))
    assert json.loads(json.dumps(pair.facts()))["same"] is False


@pytest.mark.postgres
@pytest.mark.long
def test_configure_and_meson_build_the_newest_release_alike() -> None:
    main(("18",))


def test_a_release_with_one_build_system_is_a_usage_error(tmp_path, monkeypatch):
    (tmp_path / "asv.conf.json").write_text("{}")
    monkeypatch.setenv("LANDSPEED_PROJECT", str(tmp_path))
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UsageError):
        main(("@debian15",))
