"""Two processes that publish at once: one after the other, each from the records it finds."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.paths import Paths
from landspeed.site import update


def test_who_publishes_beside_another_waits_for_it_from_the_records_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session: Any = SimpleNamespace(paths=Paths(cache=tmp_path, project=tmp_path))
    order: list[str] = []
    waits, other = threading.Event(), threading.Thread(target=update.update_site, args=[session])

    def first(_: object) -> tuple[Path, int]:
        monkeypatch.setattr(update, "_update", second)
        other.start()
        assert waits.wait(60)
        order.append("first")
        return tmp_path, 0

    def second(_: object) -> tuple[Path, int]:
        order.append("second")
        return tmp_path, 0

    monkeypatch.setattr(update, "say", lambda _: waits.set())
    monkeypatch.setattr(update, "_update", first)
    update.update_site(session)
    other.join()
    assert order == ["first", "second"]
