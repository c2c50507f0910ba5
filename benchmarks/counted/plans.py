"""The plans of a workload's statements, in words that do not depend on the version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg

from base.files import digest_text
from benchmarks.records.record import PlanFacts
from benchmarks.workloads.catalog import Workload

_SET = re.compile(r"\\set\s+(\w+)\s+(.+)")
_RANDOM = re.compile(r"random(?:_\w+)?\(([^,()]+),\s*([^,()]+)(?:,[^()]*)?\)")
_VARIABLE = re.compile(r"(?<!:):([A-Za-z_]\w*)")
_PLANNED = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE|VALUES|MERGE)\b", re.I)
# A node of a plan: the first line, and what an arrow points at. The rest are its properties.
_NODE = re.compile(r"^( *)(?:->  )?(.*)$")
_COSTS = re.compile(r"  \(cost=[^)]*\)$")
# What versions spell in another way: "Subquery Scan x" before 9.0, "InitPlan 1 (returns $0)"
# before 17, "Result Cache" in 14's development.
_SPELLINGS = (
    (re.compile(r"Subquery Scan (?!on )"), "Subquery Scan on "),
    (re.compile(r" \(returns [^)]*\)"), ""),
    (re.compile(r"Result Cache"), "Memoize"),
    (re.compile(r"( on \S+) .*"), r"\1"),  # an alias
)
_LINES = 60


def plans_of(
    connection: psycopg.Connection[Any], workload: Workload, variables: dict[str, str]
) -> PlanFacts | None:
    """Return the plans that *workload* has on a server now; None if it has no statement with one.

    Variables of its script have their values of *variables*, or the middle of what they are drawn
    from. A statement that cannot be planned outside the script (its table is made there) has none.
    """
    try:
        for statement in workload.session:
            connection.execute(statement.encode())
    except psycopg.Error:
        return None
    shapes: list[str] = []
    lines: list[str] = []
    for statement in _statements(connection, workload.script, dict(variables)):
        try:
            rows = connection.execute(f"EXPLAIN {statement}".encode()).fetchall()
        except psycopg.Error:
            continue
        plan = [_COSTS.sub("", row[0]) for row in rows]
        shapes += [shape_of(plan), ""]
        lines += [" ".join(statement.split()), *(f"  {line}" for line in plan)]
    if not shapes:
        return None
    return PlanFacts(shape=digest_text("\n".join(shapes))[:10], lines=tuple(lines[:_LINES]))


def shape_of(plan: list[str]) -> str:
    """Return the nodes of a *plan* (lines of EXPLAIN) with their tables and indexes.

    Conditions, sort keys and the like are left out: versions spell them in different ways.
    """
    nodes = []
    for number, line in enumerate(plan):
        found = _NODE.match(line)
        if (number and "->  " not in line) or found is None:
            continue
        name = found[2]
        for pattern, word in _SPELLINGS:
            name = pattern.sub(word, name)
        nodes.append(f"{len(found[1])} {name}")
    return "\n".join(nodes)


def _statements(
    connection: psycopg.Connection[Any], script: str, variables: dict[str, str]
) -> Iterator[str]:
    """Yield the statements of a pgbench *script* that have a plan, with values for variables."""
    text = []
    for line in script.splitlines():
        if found := _SET.match(line):
            variables[found[1]] = _value(connection, _filled(found[2], variables))
        elif not line.startswith("\\"):
            text.append(line)
    for statement in re.split(r";\s*(?:\n|$)", "\n".join(text)):
        if _PLANNED.match(statement):
            yield _filled(statement, variables)


def _filled(text: str, variables: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1], "'1'"), text)


def _value(connection: psycopg.Connection[Any], expression: str) -> str:
    """Return the value of a pgbench *expression*: the server computes it."""
    middle = _RANDOM.sub(r"((\1) + (\2)) / 2", expression)
    try:
        row = connection.execute(f"SELECT ({middle})::text".encode()).fetchone()
    except psycopg.Error:
        return "'1'"
    return str(row[0]) if row else "'1'"
