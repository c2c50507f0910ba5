"""Which build pgbench is taken from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from base.build import Build, Variant
from base.paths import Paths
from builders.source import Source
from landspeed.campaign.inventory import listing
from landspeed.session.session import Session
from tests.kits.builds.buildkit import PretendedSources
from tests.kits.made_up.compare_kit import build

WHOLE, ALONE = build("18.6"), build("18.6", digest="alone")


@dataclass
class PretendedBuilder:
    """Has what is in ``stored``, and builds what it is asked for."""

    stored: list[Build] = field(default_factory=list)

    def newest_stable(self) -> Source:
        return PretendedSources(version="18.6").resolve("18")

    def find(self, *_: Any) -> Build | None:
        return WHOLE if WHOLE in self.stored else None

    def find_client(self) -> Build | None:
        return self.stored[0] if self.stored else None

    def build(self, source: Source, variant: Variant, *, progress: Any) -> Build:
        assert (source, variant) == (self.newest_stable(), Variant())
        self.stored.append(WHOLE)
        return WHOLE

    def build_client(self, *, progress: Any) -> Build:
        self.stored.append(ALONE)
        return ALONE


@pytest.fixture
def session(tmp_path: Path) -> Callable[..., Session]:
    def opened(*stored: Build) -> Session:
        made = Session(paths=Paths(project=tmp_path, cache=tmp_path / "cache"))
        made.__dict__["builder"] = PretendedBuilder(list(stored))
        return made

    return opened


def test_pgbench_is_built_alone_once_if_there_is_none(session, capsys):
    opened = session()
    assert [opened.pgbench_build(), opened.pgbench_build()] == [ALONE, ALONE]
    assert opened.builder.stored == [ALONE]
    assert capsys.readouterr().err.startswith("building pgbench of 18.6\n")


def test_the_pgbench_that_was_built_with_a_server_is_used(session):
    assert session(WHOLE).pgbench_build() == WHOLE


def test_who_needs_its_server_gets_one(session):
    opened = session(ALONE)
    assert opened.pgbench_build(with_server=True) == WHOLE
    assert opened.builder.stored == [ALONE, WHOLE]


def test_a_build_of_pgbench_alone_is_no_server_that_is_listed(tmp_path):
    opened = Session(paths=Paths(project=tmp_path, cache=tmp_path / "cache"))
    for name, programs in (("17.1", ["pgbench"]), ("18.1", ["postgres", "pgbench"])):
        made = build(name, prefix=tmp_path / name)
        (made.prefix / "bin").mkdir(parents=True)
        for program in programs:
            made.program(program).write_text("")
        opened.builder.store.put(made.prefix, made)
    assert {row.name: row.built for row in listing(opened) if row.built} == {"18.1": ("bs8",)}
