"""Messages of the builders and benchmarks packages at the command line."""

from __future__ import annotations

import logging

import pytest

from landspeed.console.progress import install_log_handler


@pytest.mark.parametrize("name", ["builders.source.fetch", "benchmarks.data.templates"])
def test_a_message_is_printed_once_on_stderr_however_often_the_handler_is_installed(name, capsys):
    install_log_handler()
    install_log_handler()
    logging.getLogger(name).info("downloading [17.11]")
    logging.getLogger(name).debug("not shown")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "downloading [17.11]\n")


def test_what_other_libraries_log_is_not_printed(capsys):
    install_log_handler()
    logging.getLogger("matplotlib").info("something")
    assert capsys.readouterr().err == ""
