"""What every test of the builders has at hand: their messages, in ``caplog``."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def messages_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="builders")
