"""A project of made-up servers, for tests that search its commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kits.made_up.bisect_project import COUNT, MadeUp


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    return MadeUp.make(tmp_path_factory.mktemp("made-up"), COUNT)


@pytest.fixture
def made(shared: MadeUp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MadeUp:
    for name, value in shared.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LANDSPEED_RESULTS", str(tmp_path / "results"))
    return shared
