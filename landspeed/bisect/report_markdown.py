"""A bisection's facts as Markdown: what a person pastes into an issue or a mail. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.workloads.cell_name import CellName
from landspeed.console.markdown import code, markdown_table, plain
from landspeed.console.progress import duration

Facts = Mapping[str, Any]
_LONGEST_LIST = 20
_LONGEST_COMMAND = 2000


def markdown(facts: Facts) -> str:
    """The report."""
    return "\n".join(_lines(facts))


def _lines(facts: Facts) -> Iterator[str]:
    yield f"# {_title(facts)}"
    yield ""
    yield from _answer(facts)
    yield ""
    yield from _culprit(facts)
    yield from _others(facts)
    if facts["explanation"]:
        yield "## Where the cost went"
        yield ""
        yield str(facts["explanation"])
        yield ""
    yield "## Measurements"
    yield ""
    yield from _measurements(facts)
    yield ""
    yield "## How it was found"
    yield ""
    yield from _method(facts)
    yield ""
    yield "## To reproduce"
    yield ""
    yield from _reproduce(facts)


def _title(facts: Facts) -> str:
    good, bad = facts["good"]["name"], facts["bad"]["name"]
    return f"{facts['metric']} from {good} to {bad}: {_headline(facts)}"


def _headline(facts: Facts) -> str:
    culprit = facts["culprit"]
    match facts["answer"]:
        case "culprit":
            return f"{culprit['name']} {code(culprit['subject'])}"
        case "range":
            steps = culprit["steps"]
            return f"one of {steps['count']} {facts['over']}, {steps['first']} to {steps['last']}"
        case "refuted":
            return "no answer that held"
        case answer:
            return str(answer)


def _answer(facts: Facts) -> Iterator[str]:
    size, sure = _share(facts["size"]), _sure(facts)
    one = "improvement" if facts["improvement"] else "regression"
    match facts["answer"]:
        case "culprit":
            yield f"**{facts['culprit']['name']} changed {_what(facts)}{sure}.**"
        case "range":
            steps = facts["culprit"]["steps"]
            yield (
                f"**One of {steps['count']} {facts['over']}, {steps['first']} to "
                f"{steps['last']}, changed {_what(facts)}{sure}.** What lies between them cannot "
                "be built or does not run, so they cannot be told apart."
            )
        case "no culprit":
            yield (
                f"**There is no {one} of {size} or more{sure}.** GOOD and BAD do not differ by "
                "that much, or no single step between them is that large."
            )
        case "reversed":
            better, worse = ("worse", "better") if facts["improvement"] else ("better", "worse")
            yield f"**BAD is {better} than GOOD{sure}**, not {worse}."
        case "refuted":
            name = facts["culprit"]["name"]
            yield (
                f"**Undecided.** The search came to {name}, but {_compared(facts)} it does not "
                f"differ from its parent as it should.{_drifted(facts)}"
            )
        case _:
            yield from _undecided(facts)
    yield from _verification(facts)


def _undecided(facts: Facts) -> Iterator[str]:
    left = facts["left"]
    yield (
        f"**Undecided: the budget is spent.** If there is a step it is, as likely as was asked "
        f"for, one of {left['count']} {facts['over']}, {left['first']} to {left['last']}."
    )


def _what(facts: Facts) -> str:
    return f"{facts['metric']} by {facts['change']:+.2%}"


def _sure(facts: Facts) -> str:
    if facts["confidence"] is None:
        return ""
    if facts["exact"]:
        return " (an exact count)"
    return f" (confidence {min(facts['confidence'], 0.9999):.2%})"


def _verification(facts: Facts) -> Iterator[str]:
    found = facts["verification"]
    if found is None:
        if facts["culprit"]:
            yield ""
            yield "It was not compared with its parent: no time was left for it."
        return
    low, high = found["interval"] or (None, None)
    yield ""
    if facts["exact"]:
        yield (
            f"Counted beside its parent: {found['verdict']}, ratio {found['ratio']:.5f} "
            f"[{low:.5f} to {high:.5f}, by how well the two counts repeat]."
        )
    else:
        within = f" [{low:.4f} to {high:.4f}]" if low is not None else ""
        yield (
            f"Compared with its parent side by side, on fresh runs: {found['verdict']}, ratio "
            f"{found['ratio']:.4f}{within}, {found['runs']} runs."
        )


def _compared(facts: Facts) -> str:
    return "by fresh counts" if facts["exact"] else "compared side by side"


def _drifted(facts: Facts) -> str:
    return "" if facts["exact"] else " The machine may have drifted meanwhile."


def _culprit(facts: Facts) -> Iterator[str]:
    culprit = facts["culprit"]
    if culprit is None:
        return
    if culprit["steps"]["count"] > 1:
        yield from _candidates(culprit["steps"])
    elif "author" in culprit:
        yield f"    commit {culprit['ref']}"
        yield f"    Author: {plain(culprit['author'])} <{plain(culprit['email'])}>"
        yield f"    Date:   {culprit['authored']}"
        yield ""
        yield f"        {plain(culprit['subject'])}"
    else:
        before = culprit["parent"]["name"]
        yield f"    {plain(culprit['subject'])}, {culprit['date']}; before it {before}"
    yield ""
    if "diffstat" in culprit:
        yield from (f"    {line.strip()}" for line in culprit["diffstat"].splitlines())
        yield ""


def _candidates(span: Facts) -> Iterator[str]:
    shown = (span["candidates"] or [])[:_LONGEST_LIST]
    yield from (f"- {one['name']} {one['date']} {code(one['subject'])}" for one in shown)
    if span["count"] > len(shown):
        yield f"- … {span['count'] - len(shown)} more, up to {span['last']}"


def _others(facts: Facts) -> Iterator[str]:
    if not facts["others"]:
        return
    yield "## More than one step"
    yield ""
    yield "The measurements cannot be explained by that step alone. The level also changed in:"
    yield ""
    for span in facts["others"]:
        yield f"- {span['count']} {facts['over']} after {span['after']}, up to {span['last']}"
    yield ""


def _measurements(facts: Facts) -> Iterator[str]:
    if not facts["measurements"]:
        yield "None."
    elif facts["exact"]:
        yield from _counts(facts)
    else:
        yield from _run_table(facts)


def _counts(facts: Facts) -> Iterator[str]:
    titles = ("#", facts["over"][:-1], "date", facts["unit"], "against GOOD")
    rows = ((*_place(row), _number(row["median"]), _change(row)) for row in facts["measurements"])
    yield markdown_table(titles, rows, align="rllr")


def _run_table(facts: Facts) -> Iterator[str]:
    titles = ("#", facts["over"][:-1], "date", "runs", facts["unit"], "range", "against GOOD")
    rows = (
        (
            *_place(row),
            str(row["runs"]),
            _number(row["median"]),
            f"{_number(row['least'])} – {_number(row['most'])}" if row["runs"] > 1 else "",
            _change(row),
        )
        for row in facts["measurements"]
    )
    yield markdown_table(titles, rows, align="rllrrlr")
    yield ""
    yield "A number of several runs is their median."


def _place(row: Facts) -> tuple[str, str, str]:
    return str(row["position"]), f"{row['name']} {code(row['subject'])}", row["date"]


def _change(row: Facts) -> str:
    return f"{row['change']:+.2%}" if row["change"] is not None else ""


def _method(facts: Facts) -> Iterator[str]:
    asked, machine = facts["cell"], facts["machine"]
    yield (
        f"{facts['runs']} {_runs(facts)} and {facts['builds']} builds among {facts['candidates']} "
        f"{facts['over']} in {duration(facts['spent_seconds'])}, looking for a step of "
        f"{_share(facts['size'])} or more."
    )
    if facts["recorded"]:
        yield (
            f"{facts['recorded']} {_runs(facts)} that were recorded before were taken into account."
        )
    how = "counted by callgrind" if facts["exact"] else f"runs of {facts['seconds']} s"
    yield (
        f"pgbench {facts['pgbench']}, {asked['mode']}, {asked['protocol']}, {asked['tier']} (scale "
        f"{asked['scale']}), {asked['clients']} client{'s' * (asked['clients'] != 1)}, profile "
        f"{asked['profile']}, variant {facts['variant']}; {how}."
    )
    yield f"Machine {machine['name']}: {machine['cpu']}, {machine['cores']} cores."
    if facts["skipped"]:
        yield ""
        count = len(facts["skipped"])
        yield f"{count} {'was' if count == 1 else 'were'} passed over:"
        yield ""
        for row in facts["skipped"][:_LONGEST_LIST]:
            yield f"- {row['name']}: {code(row['reason'])}"
        if count > _LONGEST_LIST:
            yield f"- … {count - _LONGEST_LIST} more"


def _runs(facts: Facts) -> str:
    return "counts" if facts["exact"] else "runs"


def _reproduce(facts: Facts) -> Iterator[str]:
    yield "```sh"
    yield plain(facts["command"], longest=_LONGEST_COMMAND)
    culprit = facts["culprit"]
    if culprit:
        verb = "explain" if facts["exact"] else f"compare --metric {facts['metric']}"
        ends = f"{culprit['parent']['name']} {culprit['name']}"
        yield f"landspeed {verb} {ends} --scenario {CellName.of(facts['cell'])}"
    yield "```"
    yield ""
    yield f"The state is `{facts['state']}`; each run is a raw record."


def _share(share: float) -> str:
    return f"{share * 100:.3g} %"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"
