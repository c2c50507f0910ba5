"""The schema of a study's definition, studies/NAME.toml. Pure except for reading the file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from base.build import Variant
from base.errors import LandspeedError, UsageError
from base.typed import Row
from benchmarks.server.configuration import Configuration
from benchmarks.server.pooler import POOLERS
from benchmarks.server.storage import STORAGES
from benchmarks.server.topology import TOPOLOGIES
from benchmarks.workloads.catalog import SUITES, workloads
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.scenario import Mode, Protocol, Tier
from benchmarks.workloads.sysbench_modes import SYSBENCH_SCRIPTS
from landspeed.session.target import Target
from landspeed.study.ablation import SettingPattern

DIRECTORY = "studies"
DISK, SINGLE, DIRECT = "disk", "single", "direct"
"""The default storage, topology and pooler."""

MAJORS, REGISTERED, VANILLA = "majors", "registered", "vanilla"
"""Special REFs: the newest release of every major version, all registered servers, and the
releases that the registered servers are based on."""

_PLAINLY = {"Extra inputs are not permitted": "unknown key", "Field required": "missing"}
_SHARE = re.compile(r"([1-9]\d*)%")
AXES = (
    *("ref", "version", "variant", "blocksize", "wal_blocksize", "mode", "protocol", "tier"),
    *("scale", "clients", "profile", "settings", "storage", "topology", "pooler", "origin"),
    "generator",
)
"""The axes of a report's rows."""


class Size(StrEnum):
    """How much of a study is measured: minutes, hours, or everything."""

    QUICK = "quick"
    REGULAR = "regular"
    FULL = "full"


def _checked(check: Any) -> AfterValidator:
    """Return a validator that reports the landspeed error that *check* raises."""

    def validated(value: Any) -> Any:
        try:
            check(value)
        except LandspeedError as error:
            raise ValueError(f"{error.message}. {error.detail or error.hint}") from error
        return value

    return AfterValidator(validated)


def _profile(name: str) -> None:
    if name not in list(SettingPattern):
        Configuration.named(name)


def _one_of(kind: str, allowed: tuple[str, ...]) -> AfterValidator:
    def check(word: str) -> str:
        if word not in allowed:
            raise ValueError(f'unknown {kind} "{word}"; known are {", ".join(allowed)}')
        return word

    return AfterValidator(check)


def _clients(value: int | str) -> int | str:
    if isinstance(value, str) and not _SHARE.fullmatch(value):
        raise ValueError(
            f'"{value}" is neither a number of clients nor a share of the cores like 150%'
        )
    return value


_Refs = tuple[Annotated[str, _checked(lambda word: Target.parse(word, Variant()))], ...]

_Axis = Annotated[str, _one_of("axis", AXES)]
_Metric = Annotated[str, _one_of("metric", tuple(m.name for m in METRICS if not m.exact))]


class Axes(Row):
    """The values to measure, in every combination; None leaves an axis unchanged."""

    refs: _Refs | None = None
    variants: tuple[Annotated[str, _checked(Variant.parse)], ...] | None = None
    modes: tuple[str, ...] | None = None
    protocols: tuple[Protocol, ...] | None = None
    tiers: tuple[Tier, ...] | None = None
    clients: tuple[Annotated[int | str, AfterValidator(_clients)], ...] | None = None
    profiles: tuple[Annotated[str, _checked(_profile)], ...] | None = None
    storages: tuple[Annotated[str, _one_of("storage", (DISK, *STORAGES))], ...] | None = None
    topologies: tuple[Annotated[str, _one_of("topology", (SINGLE, *TOPOLOGIES))], ...] | None = None
    poolers: tuple[Annotated[str, _one_of("pooler", (DIRECT, *POOLERS))], ...] | None = None

    @classmethod
    def asked(cls, **values: Any) -> Self:
        """Return the axes a person asks for; raise the error of the first invalid value."""
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            cause = getattr(first.get("ctx", {}).get("error"), "__cause__", None)
            if isinstance(cause, LandspeedError):
                raise cause from error
            raise UsageError(_said(first["loc"], first["msg"])) from error

    def given(self) -> dict[str, Any]:
        """Return the axes that are not None."""
        return {name: value for name, value in self if value is not None}


class Part(Axes):
    """A set of points of a study: values on axes, in every combination.

    ``sizes`` are the sizes that include it. ``only_registered`` restricts it to registered
    servers. ``with_settings`` adds the settings of the command line to its configurations; else
    they are the settings of setting patterns.
    """

    name: str
    sizes: tuple[Size, ...] = tuple(Size)
    only_registered: bool = False
    with_settings: bool = False


class Amount(Row):
    """What one size of a study measures: ``repeats`` of ``seconds`` s each, on its axes."""

    about: str
    seconds: Annotated[int, Field(ge=1)]
    repeats: Annotated[int, Field(ge=1)]
    scales: Mapping[Tier, Annotated[int, Field(ge=1)]] = {}
    axes: Axes = Axes()


class ScriptFile(Row):
    """A pgbench script file and its weight."""

    file: str
    weight: Annotated[int, Field(ge=1)] = 1


class ScriptTable(Row):
    """The definition of a custom script: its files, its properties, and the SQL that loads it.

    ``distribute`` is the SQL by which a coordinator distributes its tables to workers.
    """

    name: str
    files: tuple[ScriptFile, ...]
    load: str | None = None
    writes: bool = True
    size: Annotated[float, Field(gt=0)] = 1.0
    distribute: str | None = None

    def read(self, directory: Path, files: tuple[tuple[Path, int], ...] = ()) -> Script:
        """Return the script of *files*, or its own in *directory*; UsageError if unreadable."""
        own = [(directory / one.file, one.weight) for one in self.files]
        return Script.read(
            self.name,
            list(files) or own,
            load=directory / self.load if self.load else None,
            writes=self.writes,
            size=self.size,
            distribute=directory / self.distribute if self.distribute else None,
        )


class Shown(Row):
    """Something in a report that shows runs, only those of ``part`` if that is given.

    A person may vary axes that the definition does not mention; report.py adds these with
    ``with_axes()``.
    """

    title: str
    part: str | None = None


class Exhibit(Shown):
    """A table or plot of a report, repeated for every value on the axes ``each``."""

    metric: _Metric = "tps"
    each: tuple[_Axis, ...] = ()

    def with_axes(self, more: tuple[str, ...]) -> Self:
        """Return the same, also repeated for every value on *more*."""
        return self.model_copy(update={"each": (*self.each, *more)})


class TableExhibit(Exhibit):
    """A table with a row for every value on the axes ``rows``.

    Its columns are average, standard deviation, minimum, median and maximum, or the medians of
    every value on the axis ``columns``. ``against`` is a value of the first of ``rows``. With both
    ``columns`` and ``against``, the cells are ratios to it; the last columns compare the ratios.
    """

    rows: Annotated[tuple[_Axis, ...], Field(min_length=1)]
    columns: _Axis | None = None
    against: str | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes by which it separates runs."""
        return (*self.each, *self.rows, *([self.columns] if self.columns else []))


class EvidenceExhibit(Shown):
    """A table of where the time went, with a column for every value on the axes ``columns``.

    Its rows are latencies by statement, waits, and I/O of disk and server, from the records.
    """

    columns: Annotated[tuple[_Axis, ...], Field(min_length=1)]

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes by which it separates runs."""
        return self.columns

    def with_axes(self, more: tuple[str, ...]) -> Self:
        """Return the same, also with columns for every value on *more*."""
        return self.model_copy(update={"columns": (*more, *self.columns)})


class Kind(StrEnum):
    """The kind of a plot: lines over numbers, dots by category, seconds of runs, a ranking."""

    LINES = "lines"
    DOTS = "dots"
    SECONDS = "seconds"
    RANKING = "ranking"


class PlotExhibit(Exhibit):
    """A plot of ``lines`` over ``x``; a ranking plots the effect of each setting."""

    kind: Kind
    x: _Axis
    lines: _Axis | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes by which it separates runs."""
        # A ranking is about all configurations, whatever their settings.
        all_of_one = ("settings", "profile") if self.kind is Kind.RANKING else ()
        return (*self.each, self.x, *([self.lines] if self.lines else []), *all_of_one)

    def with_axes(self, more: tuple[str, ...]) -> Self:
        """Return the same with lines for the first of *more* if it has none, else repeated."""
        if more and self.lines is None and self.kind in (Kind.LINES, Kind.DOTS):
            first, *others = more
            return self.model_copy(update={"lines": first, "each": (*self.each, *others)})
        return super().with_axes(more)


class OldSetting(Row):
    """How a setting is given the value that it had by default before, and the price of that."""

    name: str
    how: str
    price: str
    see: str = ""


class Study(Row):
    """A study: a question, the points to measure, and the tables and plots that answer it.

    One of an upgrade counts a ``suite`` of the catalog on its two servers, too; ``setting`` says
    how to get old defaults back.
    """

    title: str
    question: str
    shape: str
    see: tuple[str, ...] = ()
    part: Annotated[tuple[Part, ...], Field(min_length=1)]
    quick: Amount
    regular: Amount
    full: Amount
    script: tuple[ScriptTable, ...] = ()
    table: tuple[TableExhibit, ...] = ()
    plot: tuple[PlotExhibit, ...] = ()
    evidence: tuple[EvidenceExhibit, ...] = ()
    suite: Annotated[str, _one_of("suite", SUITES)] | None = None
    setting: tuple[OldSetting, ...] = ()

    @model_validator(mode="after")
    def _words_are_known(self) -> Self:
        known = {*Mode, *SYSBENCH_SCRIPTS, *(one.name for one in self.script)}
        catalog = {one.name for one in workloads()}
        parts = {part.name for part in self.part}
        amounts = (self.quick, self.regular, self.full)
        for axes in (*self.part, *(amount.axes for amount in amounts)):
            for mode in axes.modes or ():
                if mode not in known | catalog:
                    raise ValueError(
                        f'unknown mode or script "{mode}"; known are {", ".join(sorted(known))}'
                    )
        exhibits: tuple[Shown, ...] = (*self.table, *self.plot, *self.evidence)
        for exhibit in exhibits:
            if exhibit.part is not None and exhibit.part not in parts:
                raise ValueError(
                    f'"{exhibit.title}" shows part "{exhibit.part}", which does not exist'
                )
        return self

    def amount(self, size: Size) -> Amount:
        """Return what *size* measures."""
        return {Size.QUICK: self.quick, Size.REGULAR: self.regular, Size.FULL: self.full}[size]


def study_names(project: Path) -> tuple[str, ...]:
    """Return the names of all studies of *project*."""
    return tuple(sorted(path.stem for path in (project / DIRECTORY).glob("*.toml")))


def load_study(project: Path, name: str) -> Study:
    """Load the study *name* of *project*; UsageError if it is missing or invalid."""
    path = project / DIRECTORY / f"{name}.toml"
    if name not in study_names(project):
        raise UsageError(
            f'study "{name}" does not exist',
            hint=f"There are: {', '.join(study_names(project)) or 'none'}.",
        )
    try:
        return Study.model_validate(tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f'"{path}" is not valid TOML', detail=str(error)) from error
    except ValidationError as error:
        raise UsageError(
            f'"{path}" is not a valid study',
            detail="\n".join(_said(one["loc"], one["msg"]) for one in error.errors()),
            hint="docs/studies.md explains each key.",
        ) from error


def _said(where: tuple[int | str, ...], message: str) -> str:
    """Return a message of the schema with its place: ``part[1].modes: …``."""
    place = "".join(f"[{w + 1}]" if isinstance(w, int) else f".{w}" for w in where).lstrip(".")
    plainly = message.removeprefix("Value error, ")
    text = _PLAINLY.get(plainly, plainly)
    return f"{place}: {text}" if place else text


def client_counts(values: tuple[int | str, ...], cores: int) -> tuple[int, ...]:
    """Return the ascending client counts of *values* on a machine with *cores* cores."""
    found = set()
    for value in values:
        share = _SHARE.fullmatch(str(value))
        found.add(max(1, round(int(share[1]) / 100 * cores)) if share else int(value))
    return tuple(sorted(found))
