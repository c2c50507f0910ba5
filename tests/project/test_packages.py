"""Each package names the functions and classes to read first."""

from __future__ import annotations

import ast
import re

from tests.project.test_house import MAY_IMPORT, PROJECT, modules


def test_every_package_says_where_to_start():
    """In its docstring, because an import there would load all of it with any part."""
    wrong = []
    for path in sorted(PROJECT.glob("*/**/__init__.py")):
        package = ".".join(path.parent.relative_to(PROJECT).parts)
        if package.split(".")[0] not in MAY_IMPORT:
            continue
        start = (ast.get_docstring(modules()[package]) or "").partition("Start at ")[2]
        names = re.findall(r"``([\w.]+)``", start)
        for module, _, name in (one.rpartition(".") for one in names):
            tree = modules().get(f"{package}.{module}")
            if tree is None or name not in top_names(tree):
                wrong.append(f"{package}: {module}.{name}")
        if not names:
            wrong.append(package)
    assert wrong == []


def top_names(tree: ast.Module) -> set[str]:
    """What a module defines: functions, classes, constants."""
    targets = [
        n for node in tree.body for n in getattr(node, "targets", [getattr(node, "target", 0)])
    ]
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return named | {target.id for target in targets if isinstance(target, ast.Name)}
