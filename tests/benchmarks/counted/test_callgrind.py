"""Callgrind's output, read: golden text in its format, and the arithmetic of two profiles."""

from __future__ import annotations

import json

import pytest

from base.errors import MeasureError
from benchmarks.counted.callgrind import Edge, Profile, is_whole

# As callgrind 3.19 writes it: names once, then numbers; relative lines; the cost below a call
# on the line after calls=; other objects and inlined files in between.
OUTPUT = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 17067
cmd:  /opt/bin/postgres -D /srv/data
part: 1

desc: Timerange: Basic block 0 - 20288153
positions: line
events: Ir
summary: 1190

ob=(1) /opt/bin/postgres
fl=(1) ???
fn=(1) PostgresMain
0 100
cfn=(2) exec_simple_query
calls=2 0
0 {query}
cfn=(3) pgstat_report_stat
calls=3 0
0 90

fn=(2)
0 400
+3 {own}
cob=(2) /usr/lib/libc.so.6
cfi=(2) memmove.S
cfn=(4) __memmove_avx_unaligned_erms
calls=10 0
* 250
cfn=(2)
calls=1 0
-2 50

fn=(3)
0 60
cfn=(4)
calls=1 0
0 30

fn=(5) ServerLoop.isra.0
0 50
cfn=(1)
calls=1 0
0 {main}

ob=(2)
fl=(2)
fn=(4)
0 230
fi=(3) other.S
0 50
fe=(2)

totals: {total}
"""


def output(own: int) -> str:
    query = 400 + own + 250
    main = 100 + query + 90
    return OUTPUT.format(own=own, query=query, main=main, total=main + 50)


def test_costs_are_summed_by_function_and_by_call():
    profile = Profile.parse(output(300))
    assert profile.own == {
        "PostgresMain": 100,
        "exec_simple_query": 700,
        "pgstat_report_stat": 60,
        "ServerLoop.isra.0": 50,
        "__memmove_avx_unaligned_erms": 280,
    }
    edge = profile.edges["exec_simple_query", "__memmove_avx_unaligned_erms"]
    assert (edge.calls, edge.inclusive) == (10, 250)


def test_what_came_before_a_function_is_not_below_it():
    profile = Profile.parse(output(300))
    assert profile.entered("PostgresMain") == 100 + 950 + 90
    assert profile.entered("nothing") == 0


def test_a_function_that_calls_itself_is_not_counted_twice():
    assert Profile.parse(output(300)).inclusive()["exec_simple_query"] == 700 + 250


def test_the_difference_of_two_runs_is_per_transaction():
    short, long = Profile.parse(output(300)), Profile.parse(output(1300))
    each = long.since(short, 100)
    assert each.own["exec_simple_query"] == 10
    assert each.own["PostgresMain"] == 0
    assert each.edges["PostgresMain", "exec_simple_query"].inclusive == 10


def test_a_profile_survives_being_kept_but_for_what_is_too_small():
    short, long = Profile.parse(output(300)), Profile.parse(output(1300))
    each = long.since(short, 100)
    kept = Profile.of(json.loads(json.dumps(each.facts(least=0.01))))
    assert kept.own == {"exec_simple_query": 10}
    assert set(kept.edges) == {
        ("PostgresMain", "exec_simple_query"),
        ("ServerLoop.isra.0", "PostgresMain"),
    }


def test_a_kept_profile_has_calls_that_not_every_transaction_makes():
    calls = {"rare": 0.25, "frequent": 1.75}
    edges = {("f", name): Edge(calls=number, inclusive=9.0) for name, number in calls.items()}
    kept = Profile.of(json.loads(json.dumps(Profile(own={}, edges=edges).facts(least=0.0))))
    assert kept.edges == edges


FORGED = {
    "a number without a name": "fn=(5)\n0 1\n",
    "calls without a number": "calls=\n",
    "calls without a count": "calls=many 0\n",
    "more than 64 bits": f"fn=(1) f\n0 {1 << 64}\n",
    "a number too long for int": f"fn=(1) f\n0 {'1' * 5000}\n",
}


@pytest.mark.parametrize("text", ["", output(1)[:400], output(1)[:200] + "\nfn=(9)", "totals: 7\n"])
def test_a_file_that_is_not_whole_is_an_error(text: str):
    refused(text)


@pytest.mark.parametrize("lines", FORGED.values(), ids=FORGED)
def test_a_file_that_callgrind_did_not_write_is_an_error(lines: str):
    refused(f"{lines}totals: 7\n")


def refused(text: str) -> None:
    with pytest.raises(MeasureError) as caught:
        Profile.parse(text)
    assert caught.value.message == "callgrind's output cannot be understood"


def test_a_file_is_whole_when_its_last_line_is_there():
    assert is_whole(output(1))
    assert not is_whole(output(1).partition("totals")[0])


def test_a_function_without_a_name_is_called_by_its_object_and_address():
    text = output(700).replace("__memmove_avx_unaligned_erms", "0x00000000001e6fb0")
    profile = Profile.parse(text.replace("ServerLoop.isra.0", "0x00000000000000a0"))
    assert profile.own["libc.so.6:0x1e6fb0"] == 280
    assert profile.own["postgres:0xa0"] == 50


def test_misses_of_a_simulated_cache_are_summed_by_level_and_function():
    text = output(300).replace("events: Ir", "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw")
    # zeros at the end are left out; what is below a call is not the caller's own
    text = text.replace("0 400\n", "0 400 9 9 1 20 300 4 5\n").replace("+3 300", "+3 300 9 9 2")
    text = text.replace("* 250", "* 250 9 9 7 7 7 7 7 7")
    profile = Profile.parse(text)
    assert profile.misses["first"]["exec_simple_query"] == 323
    assert profile.misses["last"]["exec_simple_query"] == 9
    assert profile.own == Profile.parse(output(300)).own
    again = Profile.of(json.loads(json.dumps(profile.facts(least=0.0))))
    assert again.misses["last"] == {"exec_simple_query": 9}
    doubled = profile.since(again, 2).misses
    assert doubled["first"]["exec_simple_query"] == 0
    assert Profile.parse(output(300)).misses == {}


def test_processes_are_added_up():
    one = Profile(
        own={"a": 5, "b": 1},
        edges={("a", "b"): Edge(calls=1, inclusive=1)},
        misses={"last": {"a": 2}},
    )
    both = Profile.sum([one, one, Profile(own={"c": 7}, edges={})])
    assert both.own == {"a": 10, "b": 2, "c": 7}
    assert both.edges == {("a", "b"): Edge(calls=2, inclusive=2)}
    assert both.misses == {"last": {"a": 4}}
