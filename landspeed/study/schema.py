"""The definition of a Study: studies/NAME.toml, checked by a schema. Pure but for reading it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from base.build import Variant
from base.errors import LandspeedError, UsageError
from benchmarks.server.configuration import Configuration
from benchmarks.server.pooler import POOLERS
from benchmarks.server.storage import STORAGES
from benchmarks.server.topology import TOPOLOGIES
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.scenario import Mode, Protocol, Tier
from benchmarks.workloads.sysbench_modes import OLTPS
from landspeed.session.target import Target
from landspeed.study.ablation import SettingPattern

DIRECTORY = "studies"
DISK, SINGLE, DIRECT = "disk", "single", "direct"
"""The storage, the number of servers and the way to connect that are no others."""

MAJORS, REGISTERED, VANILLA = "majors", "registered", "vanilla"
"""REFs that are found out: the newest release of every major, all registered servers, and
the release that each of these is of."""

_PLAINLY = {
    "Extra inputs are not permitted": "there is no such key",
    "Field required": "it is missing",
}
_SHARE = re.compile(r"([1-9]\d*)%")
AXES = (
    *("ref", "version", "variant", "blocksize", "wal_blocksize", "mode", "protocol", "tier"),
    *("scale", "clients", "profile", "settings", "storage", "topology", "pooler", "origin"),
    "generator",
)
"""What tells the rows of a report apart."""


class Size(StrEnum):
    """A Size is how much of a Study is measured: minutes, hours, or all of it."""

    QUICK = "quick"
    REGULAR = "regular"
    FULL = "full"


class _Schema(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _told(check: Any) -> AfterValidator:
    """A validator that lets *check* say, in an error of ours, what is wrong with a value."""

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
            raise ValueError(f'"{word}" is no {kind}: there are {", ".join(allowed)}')
        return word

    return AfterValidator(check)


def _rung(value: int | str) -> int | str:
    if isinstance(value, str) and not _SHARE.fullmatch(value):
        raise ValueError(f'"{value}" is no number of clients, nor a share of the cores like 150%')
    return value


_Words = tuple[str, ...]
_Refs = tuple[Annotated[str, _told(lambda word: Target.parse(word, Variant()))], ...]
_Variants = tuple[Annotated[str, _told(Variant.parse)], ...]
_Profiles = tuple[Annotated[str, _told(_profile)], ...]
_Rungs = tuple[Annotated[int | str, AfterValidator(_rung)], ...]
_Storages = tuple[Annotated[str, _one_of("storage", (DISK, *STORAGES))], ...]
_Topologies = tuple[Annotated[str, _one_of("topology", (SINGLE, *TOPOLOGIES))], ...]
_Poolers = tuple[Annotated[str, _one_of("pooler", (DIRECT, *POOLERS))], ...]
_Axis = Annotated[str, _one_of("axis", AXES)]
_Metric = Annotated[str, _one_of("metric", tuple(m.name for m in METRICS if not m.exact))]


class Axes(_Schema):
    """Axes are what is measured, in every combination; None leaves an axis as it is."""

    refs: _Refs | None = None
    variants: _Variants | None = None
    modes: _Words | None = None
    protocols: tuple[Protocol, ...] | None = None
    tiers: tuple[Tier, ...] | None = None
    clients: _Rungs | None = None
    profiles: _Profiles | None = None
    storages: _Storages | None = None
    topologies: _Topologies | None = None
    poolers: _Poolers | None = None

    @classmethod
    def asked(cls, **values: Any) -> Self:
        """The Axes of a person's words; the first word that is none is told by its own error."""
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            told = getattr(first.get("ctx", {}).get("error"), "__cause__", None)
            if isinstance(told, LandspeedError):
                raise told from error
            raise UsageError(_said(first["loc"], first["msg"])) from error

    def given(self) -> dict[str, Any]:
        """The axes that are not None."""
        return {name: value for name, value in self if value is not None}


class Part(Axes):
    """A Part is what a Study measures together: values on axes, in every combination.

    It is of the *sizes* it names, of all if it names none, and with ``only_registered`` of
    registered servers alone. ``with_settings`` adds the settings of the command line to its
    profiles; else they are the * of profiles that are Stars.
    """

    name: str
    sizes: tuple[Size, ...] = tuple(Size)
    only_registered: bool = False
    with_settings: bool = False


class Amount(_Schema):
    """An Amount is what one Size of a Study takes: repeats of so many seconds, and its axes."""

    about: str
    seconds: Annotated[int, Field(ge=1)]
    repeats: Annotated[int, Field(ge=1)]
    scales: Mapping[Tier, Annotated[int, Field(ge=1)]] = {}
    axes: Axes = Axes()


class ScriptFile(_Schema):
    """A ScriptFile is a file in pgbench's language, and how often it is drawn."""

    file: str
    weight: Annotated[int, Field(ge=1)] = 1


class ScriptTable(_Schema):
    """A ScriptTable defines a Script: its files, what it does, and the SQL that loads it.

    ``distribute`` is the SQL by which a coordinator gives its tables to workers.
    """

    name: str
    files: tuple[ScriptFile, ...]
    load: str | None = None
    writes: bool = True
    size: Annotated[float, Field(gt=0)] = 1.0
    distribute: str | None = None

    def read(self, directory: Path, files: tuple[tuple[Path, int], ...] = ()) -> Script:
        """The Script, its own files in *directory*, or *files*; UsageError if one is not read."""
        own = [(directory / one.file, one.weight) for one in self.files]
        return Script.read(
            self.name,
            list(files) or own,
            load=directory / self.load if self.load else None,
            writes=self.writes,
            size=self.size,
            distribute=directory / self.distribute if self.distribute else None,
        )


class Exhibit(_Schema):
    """An Exhibit is one table or plot of a report.

    ``part`` is the only Part it shows, if it names one; it is repeated for every value on
    ``each``. What differs from ``against`` (an axis and the value to compare with) is told
    as a ratio. What a person asks for may differ on axes that nobody thought of when the
    exhibit was written: report.py then has it say these too (``with_axes``).
    """

    title: str
    metric: _Metric = "tps"
    part: str | None = None
    each: tuple[_Axis, ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes by which it tells Runs apart."""
        return self.each

    def with_axes(self, more: tuple[str, ...]) -> Self:
        """The same, repeated for every value on *more* too."""
        return self.model_copy(update={"each": (*self.each, *more)})


class TableExhibit(Exhibit):
    """A TableExhibit has a row for every value on its axes ``rows``.

    Its columns are average, standard deviation, minimum, median and maximum, or the medians
    of every value on the axis ``columns``. ``against`` is a value of the first of ``rows``: with
    ``columns`` too, they are the ratios to it, and last how far those are apart.
    """

    rows: Annotated[tuple[_Axis, ...], Field(min_length=1)]
    columns: _Axis | None = None
    against: str | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        return (*self.each, *self.rows, *([self.columns] if self.columns else []))


class EvidenceExhibit(_Schema):
    """An EvidenceExhibit tells where the time went, for every value on its axes, side by side.

    Per-statement latencies, waits, disk and server I/O: what the records' evidence has.
    """

    title: str
    part: str | None = None
    columns: Annotated[tuple[_Axis, ...], Field(min_length=1)]

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes by which it tells Runs apart."""
        return self.columns

    def with_axes(self, more: tuple[str, ...]) -> Self:
        """The same, with a column for every value on *more* too."""
        return self.model_copy(update={"columns": (*more, *self.columns)})


class Kind(StrEnum):
    """A Kind is how a plot shows: lines over a number, dots by category, seconds, a ranking."""

    LINES = "lines"
    DOTS = "dots"
    SECONDS = "seconds"
    RANKING = "ranking"


class PlotExhibit(Exhibit):
    """A PlotExhibit draws ``lines`` over ``x``; of a ranking, ratios to ``base`` by setting."""

    kind: Kind
    x: _Axis
    lines: _Axis | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        # a ranking is of all profiles of one base, whatever their settings
        all_of_one = ("settings", "profile") if self.kind is Kind.RANKING else ()
        return (*self.each, self.x, *([self.lines] if self.lines else []), *all_of_one)

    def with_axes(self, more: tuple[str, ...]) -> Self:
        """The same, with lines of the first of *more* if it has none, else repeated for it."""
        if more and self.lines is None and self.kind in (Kind.LINES, Kind.DOTS):
            first, *others = more
            return self.model_copy(update={"lines": first, "each": (*self.each, *others)})
        return super().with_axes(more)


class Study(_Schema):
    """A Study is a question with its axes, its sizes, and the tables and plots that answer it."""

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

    @model_validator(mode="after")
    def _words_are_known(self) -> Self:
        known = {*Mode, *OLTPS, *(one.name for one in self.script)}
        parts = {part.name for part in self.part}
        amounts = (self.quick, self.regular, self.full)
        for axes in (*self.part, *(amount.axes for amount in amounts)):
            for mode in axes.modes or ():
                if mode not in known:
                    raise ValueError(
                        f'"{mode}" is no mode and no script: there are {", ".join(sorted(known))}'
                    )
        exhibits: tuple[Exhibit | EvidenceExhibit, ...] = (*self.table, *self.plot, *self.evidence)
        for exhibit in exhibits:
            if exhibit.part is not None and exhibit.part not in parts:
                raise ValueError(f'"{exhibit.title}" is of part "{exhibit.part}", which is not')
        return self

    def amount(self, size: Size) -> Amount:
        """What *size* takes."""
        return {Size.QUICK: self.quick, Size.REGULAR: self.regular, Size.FULL: self.full}[size]


def study_names(project: Path) -> tuple[str, ...]:
    """The names of all studies of *project*."""
    return tuple(sorted(path.stem for path in (project / DIRECTORY).glob("*.toml")))


def load_study(project: Path, name: str) -> Study:
    """The Study called *name* of *project*; UsageError if there is none, or it is not valid."""
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
            f'"{path}" is not a study',
            detail="\n".join(_said(one["loc"], one["msg"]) for one in error.errors()),
            hint="docs/studies.md says what each key means.",
        ) from error


def _said(where: tuple[int | str, ...], message: str) -> str:
    """An error of the schema as a person says it: ``part[1].modes: …``."""
    place = "".join(f"[{w + 1}]" if isinstance(w, int) else f".{w}" for w in where).lstrip(".")
    plainly = message.removeprefix("Value error, ")
    text = _PLAINLY.get(plainly, plainly)
    return f"{place}: {text}" if place else text


def rungs(values: tuple[int | str, ...], cores: int) -> tuple[int, ...]:
    """The client counts that *values* are on a machine of so many *cores*, each once, ascending."""
    found = set()
    for value in values:
        share = _SHARE.fullmatch(str(value))
        found.add(max(1, round(int(share[1]) / 100 * cores)) if share else int(value))
    return tuple(sorted(found))
