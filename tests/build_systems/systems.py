"""Do configure and meson build the same server of one release? ``python -m tests.build_systems``.

The line of releases changes its build system at 16, so a difference between the two would be drawn
there as a step of PostgreSQL's own. What is compared is what was made, not what was asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from base.build import BUILD_JSON, Build
from base.errors import BuildError, LandspeedError
from base.files import digest_file
from benchmarks.clients.pgbench import Pgbench
from builders.recipe_table import BuildSystem
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target
from tests.build_systems.elf import MAGIC, Program
from tests.build_systems.system_costs import costs
from tests.build_systems.traits import Traits, traits

# Code, what it writes, and what is looked up through tables because its address is not known when
# it is compiled. Not .rodata: it has the paths of source files too, which make and meson spell
# differently (__FILE__), 24 kB in 18.6; the constants in it are compared one by one.
_SECTIONS = (".text", ".data", ".bss", ".data.rel.ro", ".got", ".plt")
_SECTION_SHARE, _SLACK_BYTES = 0.001, 256
# It tells how it was configured, and is as long as that.
_TELLS_ITSELF = "get_configdata"
# What compiling against libpq and extensions need, and no server reads.
_FOR_DEVELOPERS = re.compile(r"include/.*|lib/pkgconfig/.*|.*\.a|lib/libpq\.so")
# Compiler flags that make other code; -fpch-deps only says what an object was made from.
_OF_CODE = ("-O", "-f", "-m", "-D", "-U")
_NOT_OF_CODE = frozenset({"-fpch-deps"})
_SHOWN = 5
# Of instructions per transaction: a release's count repeats to 0.04 % at worst (docs/counting.md).
_COST_SHARE = 0.0005

Symbols = Counter[tuple[str, int]]
"""How often a function or object of a name and a size in bytes is in a program."""


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """One thing that two Builds were compared in: what each has, and the verdict.

    They are the same where no ``differences`` that count are left.
    """

    what: str
    configure: str
    meson: str
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether both have the same."""
        return not self.differences


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One Target built by both build systems, and how alike the two are.

    ``error`` is why they could not be compared.
    """

    target: Target
    likenesses: Sequence[Likeness] = ()
    error: LandspeedError | None = None

    @property
    def same(self) -> bool:
        """Whether they are the same server."""
        return self.error is None and all(one.same for one in self.likenesses)

    def facts(self) -> dict[str, Any]:
        """The Pair as JSON can hold it."""
        return {
            "target": str(self.target),
            "same": self.same,
            "error": str(self.error) if self.error else None,
            "compared": [{**asdict(one), "same": one.same} for one in self.likenesses],
        }


def compare_systems(session: Session, targets: Sequence[Target], jobs: int | None) -> list[Pair]:
    """Build each of *targets* by both systems and compare what was made; one Pair each.

    UsageError for a release that has one build system only.
    """
    by_meson = session.build_all(targets, BuildSystem.MESON, jobs=jobs)
    by_configure = session.build_all(targets, BuildSystem.CONFIGURE, jobs=jobs)
    pgbench = Pgbench(build=session.pgbench_build())
    return [_pair(session, pgbench, t, by_configure[t], by_meson[t]) for t in targets]


def _pair(
    session: Session,
    pgbench: Pgbench,
    target: Target,
    one: Build | LandspeedError,
    other: Build | LandspeedError,
) -> Pair:
    if not isinstance(one, Build):
        return Pair(target=target, error=one)
    if not isinstance(other, Build):
        return Pair(target=target, error=other)
    try:
        said = traits(one, session.paths), traits(other, session.paths)
        say(f"counting what a transaction costs both servers of {target}")
        spent = costs(session, pgbench, one), costs(session, pgbench, other)
        found = [*likenesses(one, other, *said), *cost_likenesses(*spent)]
        return Pair(target=target, likenesses=found)
    except LandspeedError as error:
        return Pair(target=target, error=error)


def likenesses(
    configure: Build, meson: Build, of_configure: Traits, of_meson: Traits
) -> list[Likeness]:
    """All that the two Builds, and what their servers say, are compared in."""
    return [
        *_files(configure.prefix, meson.prefix),
        _mapped("settings", of_configure.settings, of_meson.settings),
        _mapped("sizes", of_configure.control, of_meson.control),
        _flags(of_configure.configured, of_meson.configured),
        *_programs(configure, meson),
    ]


def _files(configure: Path, meson: Path) -> Iterator[Likeness]:
    ours, theirs = _installed(configure), _installed(meson)
    lone = [f"only by configure: {name}" for name in sorted(ours.keys() - theirs.keys())]
    lone += [f"only by meson: {name}" for name in sorted(theirs.keys() - ours.keys())]
    yield _counted("installed files", len(ours), len(theirs), lone)
    texts = [name for name in ours.keys() & theirs.keys() if not _is_program(ours[name])]
    other = [n for n in sorted(texts) if digest_file(ours[n]) != digest_file(theirs[n])]
    yield _counted("catalogs, time zones, scripts", len(texts), len(texts), other)


def _installed(prefix: Path) -> dict[str, Path]:
    paths = {path.relative_to(prefix).as_posix(): path for path in prefix.rglob("*")}
    return {
        name: path
        for name, path in paths.items()
        if (path.is_symlink() or path.is_file())
        and name != BUILD_JSON
        and not _FOR_DEVELOPERS.fullmatch(name)
    }


def _is_program(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def _mapped(what: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> Likeness:
    names = sorted(ours.keys() | theirs.keys())
    other = [
        f"{name}: {ours.get(name, 'none')}, by meson {theirs.get(name, 'none')}"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]
    return _counted(what, len(ours), len(theirs), other)


def _counted(what: str, ours: int, theirs: int, differences: Sequence[str]) -> Likeness:
    return Likeness(
        what=what,
        configure=str(ours),
        meson=str(theirs),
        differences=tuple(differences),
    )


def _flags(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Likeness:
    chosen = [sorted(_code_flags(one)) for one in (ours, theirs)]
    return Likeness(
        what="flags of code",
        configure=" ".join(chosen[0]),
        meson=" ".join(chosen[1]),
        differences=tuple(sorted(set(chosen[0]) ^ set(chosen[1]))),
    )


def _code_flags(configured: Mapping[str, str]) -> set[str]:
    words = " ".join(configured.get(name, "") for name in ("CPPFLAGS", "CFLAGS")).split()
    return {word for word in words if word.startswith(_OF_CODE)} - _NOT_OF_CODE


def _programs(configure: Build, meson: Build) -> Iterator[Likeness]:
    ours, theirs = _installed(configure.prefix), _installed(meson.prefix)
    for name in sorted(ours.keys() & theirs.keys()):
        pair = (ours[name], theirs[name])
        if any(path.is_symlink() for path in pair) or not all(map(_is_program, pair)):
            continue
        one, other = map(Program.read, pair)
        stem = Path(name).name
        yield _symbols(f"functions of {stem}", one.functions, other.functions)
        yield _symbols(f"data of {stem}", one.objects, other.objects)
        if stem == "postgres":
            yield from _sections(one, other)


def _symbols(what: str, ours: Symbols, theirs: Symbols) -> Likeness:
    sides = {"configure": ours - theirs, "meson": theirs - ours}
    return Likeness(
        what=what,
        configure=_size(ours),
        meson=_size(theirs),
        differences=tuple(
            f"only by {side}: {name} of {size} bytes"
            for side, most in sides.items()
            for name, size in sorted(most.elements())
            if name != _TELLS_ITSELF
        ),
    )


def _size(symbols: Symbols) -> str:
    return f"{symbols.total()} of {sum(size for _, size in symbols.elements())} bytes"


def _sections(one: Program, other: Program) -> Iterator[Likeness]:
    for name in _SECTIONS:
        sizes = [program.sections.get(name, 0) for program in (one, other)]
        apart = abs(sizes[0] - sizes[1])
        yield Likeness(
            what=f"{name} of postgres",
            configure=f"{sizes[0]} bytes",
            meson=f"{sizes[1]} bytes",
            differences=(f"{apart} bytes apart",)
            if apart > max(_SLACK_BYTES, _SECTION_SHARE * max(sizes))
            else (),
        )


def cost_likenesses(
    configure: Mapping[str, float], meson: Mapping[str, float]
) -> Iterator[Likeness]:
    """Instructions per transaction, by mode: the same to 0.05 %."""
    for mode, ours in configure.items():
        apart = meson[mode] / ours - 1
        yield Likeness(
            what=f"instructions of a {mode} transaction",
            configure=f"{ours:,.0f}",
            meson=f"{meson[mode]:,.0f} ({apart:+.4%})",
            differences=(f"{apart:+.3%}",) if abs(apart) > _COST_SHARE else (),
        )


def systems_table(pairs: Sequence[Pair]) -> Table:
    """Everything compared, one line each, as a table that is never cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("target", "compared", "configure", "meson", "same"):
        table.add_column(title, no_wrap=True)
    for pair in pairs:
        if pair.error is not None:
            table.add_row(str(pair.target), "-", "-", "-", "FAILED")
        for one in pair.likenesses:
            verdict = "ok" if one.same else "DRIFTED"
            table.add_row(str(pair.target), one.what, one.configure, one.meson, verdict)
    return table


def systems_failure(pairs: Sequence[Pair]) -> LandspeedError | None:
    """The error that a comparison ends with; None if every Pair is one server."""
    failed = [pair for pair in pairs if not pair.same]
    if not failed:
        return None
    return BuildError(
        f"configure and meson build {len(failed)} of {len(pairs)} as different servers",
        detail="\n".join(line for pair in failed for line in _complaints(pair)),
        hint="What one of them does alone needs a row in builders/recipes.toml.",
    )


def _complaints(pair: Pair) -> Iterator[str]:
    if pair.error is not None:
        yield f"{pair.target}\n{pair.error}"
    for one in pair.likenesses:
        if not one.same:
            yield f"{pair.target} {one.what}: {one.configure}; by meson {one.meson}"
            yield from (f"  {line}" for line in one.differences[:_SHOWN])
            more = len(one.differences) - _SHOWN
            if more > 0:
                yield f"  and {more} more"
