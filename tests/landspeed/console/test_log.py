"""Messages of the builders and benchmarks packages at the command line."""

from __future__ import annotations

import logging

import pytest

from landspeed.console.progress import install_log_handler, say


@pytest.mark.parametrize("name", ["builders.source.fetch", "benchmarks.data.templates"])
def test_a_message_is_printed_once_on_stderr_however_often_the_handler_is_installed(name, capsys):
    install_log_handler()
    install_log_handler()
    logging.getLogger(name).info("downloading [17.11]")
    logging.getLogger(name).debug("not shown")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "downloading [17.11]\n")


def test_control_characters_of_others_do_not_reach_a_terminal(capsys):
    install_log_handler()
    logging.getLogger("builders").info("a\x1b[2J b\x9b31m\rc\x07\nd é")
    # pytest's processes cannot tell each other of a log with this one
    say("e\udcff")
    assert capsys.readouterr().err == "a\ufffd[2J b\ufffd31m\ufffdc\ufffd\nd é\ne\ufffd\n"


def test_what_other_libraries_log_is_not_printed(capsys):
    install_log_handler()
    logging.getLogger("matplotlib").info("something")
    assert capsys.readouterr().err == ""
