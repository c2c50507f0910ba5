"""One browser for the pages of a site; ``site`` is each module's own fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kits.site_check import browsing, served

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.kits.site_check import Complaints


@pytest.fixture(scope="module")
def opened(site: Path) -> Iterator[tuple[Page, str, Complaints]]:
    """One browser for all tests: it takes longer to start than most of them."""
    with served(site) as address, browsing(address) as (page, complaints):
        page.set_default_timeout(60_000)
        yield page, address, complaints


@pytest.fixture
def browser(opened: tuple[Page, str, Complaints]) -> Iterator[tuple[Page, str]]:
    """A page of the browser, and the address of the site; no complaints at the end."""
    page, address, complaints = opened
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    yield page, address
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    assert not complaints, complaints
