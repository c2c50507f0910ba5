"""What landspeed relies on in asv beyond its documentation: a failure names what asv changed."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from pkgutil import resolve_name

import asv
import pytest

SITE = Path(__file__).resolve().parents[4] / "landspeed" / "site"

# Where asv has it, and the parameters that are passed, or None for what is no function.
RELIED_ON = {
    "asv.commands.publish.GraphSet": (),
    "asv.commands.publish.GraphSet.detect_steps": ("self", "pool", "dots"),
    "asv.commands.publish.Publish.iter_results": ("conf", "repo", "range_spec"),
    "asv.commands.publish.Publish.run": ("conf", "range_spec", "pull"),
    "asv.results.iter_results_paths": ("results",),
    "asv.results.Results.load": ("path", "machine_name"),
    "asv.results.Results.get_result_keys": ("self", "benchmarks"),
    "asv.results.Results.get_result_value": ("self", "key", "params"),
    "asv.graph.Graph": ("benchmark_name", "params"),
    "asv.graph.Graph.get_steps": ("self",),
    "asv.graph.Graph.get_data": ("self",),
    "asv.graph.Graph.get_file_path": ("params", "benchmark_name"),
    "asv.graph.resample_data": ("val",),
    "asv.plugin_manager.plugin_manager.import_plugin": ("name",),
    "asv.plugins.git.Git": ("url", "mirror_path"),
    "asv.plugins.git.Git.get_revisions": ("self", "commits"),
    "asv.plugins.summarylist.SummaryList.publish": (
        *("conf", "repo", "benchmarks", "graphs", "revisions"),
    ),
    "asv.feed.write_atom": ("dest", "entries", "author", "title", "address"),
    "asv.feed.FeedEntry": ("title", "updated", "link", "content", "id_context", "id_date"),
    "asv.environment.get_env_name": ("tool_name", "python", "requirements", "tagged_env_vars"),
    "asv.util.check_output": ("args",),
}


@pytest.mark.parametrize(("name", "parameters"), RELIED_ON.items())
def test_asv_still_has_what_the_site_relies_on(name: str, parameters: tuple[str, ...]) -> None:
    try:
        found = resolve_name(name)
    except (ImportError, AttributeError) as error:
        pytest.fail(f"asv {asv.__version__} has no {name} any more: {error}")
    has = list(inspect.signature(found).parameters)
    missing = [one for one in parameters if one not in has]
    assert not missing, f"{name} of asv {asv.__version__} takes {has}, not {missing}"


def test_asv_uses_the_graphs_of_the_name_that_is_replaced() -> None:
    source = inspect.getsource(asv.commands.publish.Publish.run)
    for text in ("graphs = GraphSet()", "graphs.detect_steps(", "cls.iter_results("):
        assert text in source, f"asv.commands.publish.Publish.run has no {text} any more"


def test_steps_are_read_through_get_steps_alone() -> None:
    for name in ("asv.plugins.summarylist", "asv.plugins.regressions"):
        source = inspect.getsource(resolve_name(name))
        assert "._steps" not in source, f"{name} no longer asks get_steps()"


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.py")), ids=lambda path: path.name)
def test_no_private_name_of_another_object_is_used(path: Path) -> None:
    private = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "cls")
    ]
    assert private == []
