"""The house rules: what may import what, how long things may be, where processes start."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
MAY_IMPORT = {
    "base": {"base"},
    "builders": {"base", "builders"},
    "benchmarks": {"base", "benchmarks"},
    "landspeed": {"base", "builders", "benchmarks", "landspeed"},
}
LEVELS = {
    "benchmarks": (
        ("machine", "records"),
        ("workloads",),
        ("server",),
        ("clients", "observation"),
        ("applicability", "data"),
        ("measure",),
        ("counted", "smoke"),
        ("suite",),
    ),
    "landspeed": (
        ("console", "stats"),
        ("doctor",),
        ("results",),
        ("profiling", "session"),
        ("sampling",),
        ("compare",),
        ("bisect", "campaign", "changepoints"),
        ("atlas",),
        ("farm", "site"),
        ("study",),
        ("cli",),
    ),
}
"""What is directly in each of the two, lowest level first: each imports only from lower levels."""
LOWEST_INSIDE = ("landspeed.cli.options", "landspeed.site.asv_incremental", "landspeed.site.pages")
"""Packages that import nothing else from the package around them."""
MOST_MODULES = 17
MAY_START_PROCESSES = (
    "base.confinement",
    "builders.docker",
    "builders.sandbox",
    "builders.source",
    "benchmarks.clients.client",
    "benchmarks.machine.spawn",
    "benchmarks.server.cluster",
    "benchmarks.server.pooler",
    "benchmarks.server.storage",
    "benchmarks.counted.valgrind",
    "landspeed.site.asv_incremental.make",
    "landspeed.site.asv_results",
)
MAY_COMPARE_VERSIONS = ("base.version", "builders.catalog")
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
SCRIPTS = (
    *("tools/setup", "tools/lock", "tools/docker-base", "tools/branch-rules", "tools/atlas"),
    ".ci/run",
    *(f"tools/runner/{name}" for name in ("job-started", "job-completed", "clean")),
    *(f"tools/runner/{name}" for name in ("jitconfig", "run-once")),
)


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of all modules of the four packages, by dotted name."""
    found = {}
    for package in MAY_IMPORT:
        for path in sorted((PROJECT / package).rglob("*.py")):
            name = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = ast.parse(path.read_text(), str(path))
    return found


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every node of *kinds* with the name of its module."""
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield name, node


def imports(tree: ast.AST) -> Iterator[str]:
    """The dotted names *tree* imports, a module of ours rather than its package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else str(node.module)


def dotted(node: ast.AST) -> str:
    """A name as it is written, ``a.b.c``; empty for anything else."""
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def within(name: str, allowed: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


@cache
def project_files() -> tuple[Path, ...]:
    """The text files git has or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    paths = (PROJECT / name for name in listed.split("\0") if name)
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


def texts() -> Iterator[tuple[str, str]]:
    """Name and text of every file of ours that is text; others' work (static) is not ours."""
    for path in project_files():
        name = str(path.relative_to(PROJECT))
        if "/static/" in name:
            continue
        try:
            yield name, path.read_text()
        except UnicodeDecodeError:
            continue


def public(kind: type[ast.AST]) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """The public definitions of *kind* at the top of each module."""
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                yield name, node


# --- code ----------------------------------------------------------------------------------


def test_packages_import_only_downwards():
    wrong = [
        f"{name} imports {target}"
        for name, tree in modules().items()
        for target in imports(tree)
        if target.split(".")[0] in MAY_IMPORT
        and target.split(".")[0] not in MAY_IMPORT[name.split(".")[0]]
    ]
    assert wrong == []


def test_packages_inside_a_package_import_only_from_lower_levels():
    wrong = []
    for top, levels in LEVELS.items():
        level = {name: number for number, names in enumerate(levels) for name in names}
        for name, tree in modules().items():
            here = name.split(".")
            if here[0] != top or len(here) == 1:
                continue
            for target in imports(tree):
                there = target.split(".")
                if there[0] != top or len(there) == 1 or there[1] == here[1]:
                    continue
                if level[there[1]] >= level[here[1]]:
                    wrong.append(f"{name} imports {target}")
    assert wrong == []


@pytest.mark.parametrize("inner", LOWEST_INSIDE)
def test_an_inner_package_imports_nothing_else_from_the_package_around_it(inner):
    around = inner.rpartition(".")[0]
    inside = {name: tree for name, tree in modules().items() if within(name, (inner,))}
    assert inside
    assert [
        f"{name} imports {target}"
        for name, tree in inside.items()
        for target in imports(tree)
        if within(target, (around,)) and not within(target, (inner,))
    ] == []


def test_every_package_is_on_one_level_and_says_what_it_is_for():
    for top, levels in LEVELS.items():
        found = {name.split(".")[1] for name in modules() if name.startswith(f"{top}.")}
        assert sorted(name for names in levels for name in names) == sorted(found)
    packages = {name.rpartition(".")[0] for name in modules() if "." in name}
    assert [name for name in packages if not ast.get_docstring(modules()[name])] == []


def test_no_directory_has_more_modules_than_one_can_survey():
    counts = Counter(str(path.parent) for path in project_files() if path.suffix == ".py")
    assert {name: count for name, count in counts.items() if count > MOST_MODULES + 1} == {}


def test_no_modules_import_each_other_in_a_circle():
    rest = {name: set(imports(tree)) & set(modules()) - {name} for name, tree in modules().items()}
    while free := {name for name, targets in rest.items() if not targets & set(rest)}:
        rest = {name: targets for name, targets in rest.items() if name not in free}
    assert rest == {}


def test_no_function_imports_anything():
    wrong = [
        f"{name}:{inner.lineno}"
        for name, node in nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert wrong == []


def test_modules_are_named_at_run_time_only_where_a_verb_is_looked_up():
    wrong = [
        f"{name}:{node.lineno}"
        for name, node in nodes(ast.Call)
        if dotted(node.func).rpartition(".")[2] in {"import_module", "__import__"}
        and name not in {"landspeed.cli.main", "landspeed.cli.doctor"}
    ]
    assert wrong == []


def test_files_stay_readable_in_one_sitting_and_functions_on_one_screen():
    long = {
        name: lines
        for name, text in texts()
        if name.endswith(".py") and (lines := text.count("\n")) > LONGEST_FILE
    }
    assert long == {}
    long = {
        f"{name}.{node.name}": lines
        for name, node in nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        if (lines := node.end_lineno - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def test_processes_are_started_only_where_they_may_be_and_never_by_a_shell():
    starters = {"subprocess", "multiprocessing", "pty"}
    wrong = [
        f"{name} imports {target}"
        for name, tree in modules().items()
        for target in imports(tree)
        if target.split(".")[0] in starters and not within(name, MAY_START_PROCESSES)
    ]
    started = re.compile(r"os\.(system|popen|fork|forkpty|posix_spawnp?|(spawn|exec)[lv]p?e?)")
    for name, node in nodes(ast.Call):
        if started.fullmatch(dotted(node.func)):
            wrong.append(f"{name}:{node.lineno} calls {dotted(node.func)}")
        if any(keyword.arg == "shell" for keyword in node.keywords):
            wrong.append(f"{name}:{node.lineno} asks for a shell")
    assert wrong == []


def speaks_of_a_version(node: ast.AST) -> bool:
    """Whether *node* is a version, a part of one, or made by parsing one."""
    if isinstance(node, ast.Subscript):
        return speaks_of_a_version(node.value)
    if isinstance(node, ast.Call):
        return dotted(node.func) in {"Version.parse", "Version.from_tag"}
    last = dotted(node).rpartition(".")[2]
    return bool(re.fullmatch(r"major(_text)?|(\w+_)?version(_num)?", last))


def spells_a_version(node: ast.AST) -> bool:
    """Whether *node* is a number or text, or the call that makes a Version of one."""
    if isinstance(node, ast.Call):
        return speaks_of_a_version(node) and any(map(spells_a_version, node.args))
    if isinstance(node, ast.Tuple):
        return any(map(spells_a_version, node.elts))
    return isinstance(node, ast.Constant) and node.value not in (None, "")


def test_no_code_decides_by_version_outside_version_and_catalog():
    """Ordering versions, or asking for a certain one, is for the tables: a range there."""
    wrong = []
    for name, node in nodes(ast.Compare):
        sides = (node.left, *node.comparators)
        orders = any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
        if any(map(speaks_of_a_version, sides)) and (orders or any(map(spells_a_version, sides))):
            wrong.append((name, node))
    for name, node in nodes(ast.Call):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        makes = dotted(node.func) in {"Version.parse", "VersionRange.parse"}
        if makes and any(map(spells_a_version, given)):
            wrong.append((name, node))
    assert [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, node in wrong
        if not within(name, MAY_COMPARE_VERSIONS)
    ] == []


def test_public_names_say_what_they_are():
    silent = [
        f"{name}.{node.name}"
        for kind in (ast.ClassDef, ast.FunctionDef)
        for name, node in public(kind)
        if not ast.get_docstring(node)
    ]
    assert silent == []


def test_one_noun_has_one_class():
    homes: dict[str, list[str]] = {}
    for name, node in public(ast.ClassDef):
        homes.setdefault(node.name, []).append(name)
    assert {noun: places for noun, places in homes.items() if len(places) > 1} == {}


def test_a_release_is_one_stanza_of_at_most_five_lines():
    text = (PROJECT / "builders/releases.toml").read_text()
    stanzas = text.split("[[release]]")[1:]
    lines = [
        [line for line in stanza.splitlines() if line.strip() and not line.startswith("#")]
        for stanza in stanzas
    ]
    assert len(lines) > 20
    assert max(map(len, lines)) + 1 <= 5


# --- files ---------------------------------------------------------------------------------


def test_nothing_is_left_to_be_done_later_in_the_code():
    later = re.compile(r"\b(TO" + "DO|FIX" + "ME|XX" + r"X)\b")
    assert [name for name, text in texts() if later.search(text)] == []


def test_no_file_names_a_place_on_somebodys_machine():
    homes = re.compile(r"(?<![\w.~])/(home/[a-z]|root/|Users/)")
    assert [
        name
        for name, text in texts()
        if homes.search(text) or (len(PROJECT.parts) > 2 and f"{PROJECT}/" in text)
    ] == []


def test_the_changelog_has_an_entry():
    text = (PROJECT / "CHANGELOG.md").read_text()
    head = re.search(r"^## (Unreleased|\d+\.\d+\.\d+.*)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert head is not None
    assert re.search(r"^- \w", head[2], re.M)


def test_contributing_fits_a_screen():
    assert (PROJECT / "CONTRIBUTING.md").read_text().count("\n") <= 50


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_sound(script):
    assert (PROJECT / script).read_text().startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in (PROJECT / script).read_text()
    checkers = [["bash", "-n"], ["shellcheck"]]
    for checker in checkers:
        if shutil.which(checker[0]):
            done = subprocess.run([*checker, script], cwd=PROJECT, capture_output=True, check=False)
            assert done.returncode == 0, done.stdout.decode()


def test_ci_runs_the_test_command_of_the_readme():
    assert "\nmake test\n" in (PROJECT / ".ci/run").read_text()


def test_make_test_quick_leaves_out_every_marked_test_and_make_test_none_but_the_long():
    options = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]
    makefile = (PROJECT / "Makefile").read_text()
    markers = {marker.partition(":")[0] for marker in options["ini_options"]["markers"]}
    (left_out,) = re.findall(r'pytest .* -m "not \((.*)\)"', makefile)
    assert set(left_out.split(" or ")) == markers
    assert options["ini_options"]["addopts"].endswith("-m 'not long'")
    assert "\t.venv/bin/pytest -n 3 --dist loadgroup --durations=10\n" in makefile
