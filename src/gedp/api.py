"""What Python users meet: from a spec and a table to a release, and from a release to tables and microdata.

>>> import gedp, pyarrow as pa
>>> spec = gedp.make_spec(
...     data={"public": ["county"], "synthetic": True},
...     attributes={"jobs": {"psi": "sqrt", "gamma": 0.5}},
...     budget={"mu": 1},
...     queries=[{"name": "county", "by": ["county"], "mu": 0.5}],
... )
>>> gedp.price(spec).total.mu
0.5
>>> gedp.check(spec, pa.table({"county": ["001", "003"], "jobs": [12, 40]})).within_budget
True
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as changed
from decimal import Decimal
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import numpy.typing as npt

from gedp.accounting.composition import Promise
from gedp.completing import complete
from gedp.confidential.asking import as_decimal, own_query
from gedp.confidential.asking import ask as carry_out_own
from gedp.confidential.drafting import read_shape
from gedp.confidential.engines import ArrowStream
from gedp.confidential.engines.choice import engine_of, is_of_spark, on_file
from gedp.confidential.limits import require_noise
from gedp.confidential.measure import answer
from gedp.confidential.preparing import prepare
from gedp.confidential.reference_table import establishments_for
from gedp.confidential.run import plan_run
from gedp.confidential.run import run as carry_out
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable, open_table_of
from gedp.errors import DomainError
from gedp.ledger import DecidedBy, Ledger
from gedp.ledger.finishing import Closed
from gedp.ledger.finishing import finish as finish_in
from gedp.microdata import Microdata
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.kinds import need_all_rows
from gedp.microdata.on_file import find_microdata
from gedp.neighbors import choose
from gedp.noise.entropy import Entropy, SeededEntropy
from gedp.periods import Period
from gedp.planning.establishments import public_totals
from gedp.planning.plan import Plan, make_plan
from gedp.policy import PriceList, Spec, for_period, price, read_spec, require_within_budget
from gedp.policy.drafting import draft_spec as draft
from gedp.policy.reading import make_reading
from gedp.progress import Progress, silent
from gedp.publication import IN_PACKAGES, Package, PackageOptions, Presentation, Quality, write_package
from gedp.release import ReleaseFolder
from gedp.release import read_release as read_folder
from gedp.release.answer import Answer
from gedp.tables import Table


class Release(ReleaseFolder):
    """A release in its folder, and what can be made of it. Nothing here sees the confidential table."""

    @property
    def spec(self) -> Spec:
        """What was asked, and what is promised."""
        return self.manifest.spec

    @property
    def promise(self) -> Promise:
        """What this release promises: the protection of each attribute, and its loss, in μ and in other terms."""
        attributes = self.spec.policy.attributes
        return Promise({name: attributes[name].protection for name in self.spec.concerned}, self.manifest.prices.total)

    def table(self, query: str) -> Table:
        """The answers of a query as they were drawn, with their errors; establishments, where it asks for these.

        Tables of `microdata` are more exact.
        """
        answered = self.manifest.query(query)
        return self.establishments() if answered and answered.is_identity else Table(self.answers(query))

    def establishments(self) -> Table:
        """The protected establishments: public columns, and for each attribute its noisy ψ and its estimate."""
        return Table(self.identity())

    def microdata(
        self,
        *,
        weights: str | None = None,
        nonnegative: bool | None = None,
        whole: bool | None = None,
        fixed: Sequence[Given] = (),
        session: Any = None,
    ) -> Microdata:
        """One protected table that fits all answers best: the one on file, or fitted now.

        `weights` are "quasi" or "plug-in"; `nonnegative` and `whole` constrain the values; `fixed` are public totals to
        meet. What is not given is as on file, or else as the spec says. The rows of very many establishments stay on
        file, where workers of a `session` of Spark read them, or this machine in parts.
        """
        rows = on_file(session)
        return find_microdata(self, weights=weights, nonnegative=nonnegative, whole=whole, fixed=fixed, on_file=rows)

    def __repr__(self) -> str:
        manifest = self.manifest
        queries = ", ".join(query.name for query in self.spec.queries)
        warning = ", NOT PROTECTED: seeded" if manifest.is_seeded else ""
        return f"Release({self.name}: {queries}; mu = {manifest.prices.total.mu:.6g}{warning})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.manifest.prices._repr_html_()}"


@sealed
def run(
    spec: Spec | str | Path,
    table: ArrowStream | None = None,
    *,
    source: str | Path | None = None,
    period: str | Period | None = None,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    replace: bool = False,
    decided_by: DecidedBy | None = None,
    seed: int | None = None,
    zeta: Decimal | float | None = None,
    answers_only: bool = False,
    progress: Progress | None = None,
    session: Any = None,
) -> Release:
    """Answers the queries of a spec with noise, and writes the release with its microdata and report: spends budget.

    The table is the file that the spec names, another `source`, or a DataFrame or table of pandas, polars, pyarrow or
    DuckDB. `period` says which of a series it is, such as "2016Q2", in the place of the spec's. `out` is the folder of
    the release, by default as the spec says. The price is in the ledger before any noise is drawn: beside a
    confidential file one is found or made; for a confidential `table` one must be named. What ends before the first
    draw costs nothing; what is interrupted later, `finish` brings to its end. `seed` makes noise that can be repeated
    and protects nothing; it is for synthetic data. `zeta`, the chance that clipping cuts off any value, replaces that
    of the spec. `answers_only` leaves out microdata and report.

    With a `session` of Spark, or a DataFrame of Spark as the table, its workers read the table and draw the noise of
    establishments, and those of the microdata fit where its rows can stay on file (see the page on large tables). Where
    they cannot, microdata and report are left out: `Release.microdata` makes them on one machine.
    """
    read = _about(spec, table, source, period)
    read = read if zeta is None else changed(read, zeta=_chance(zeta))
    plan = plan_run(
        read,
        table=table,
        out=out,
        ledger=ledger,
        replace=replace,
        keep=_files_of(spec),
        decided_by=decided_by,
        entropy=None if seed is None else SeededEntropy(seed),
        session=session,
    )
    release = carry_out(plan, progress=progress)
    session = getattr(table, "sparkSession", None) if is_of_spark(table) else session
    if not answers_only and (session is None or not need_all_rows(read)):
        complete(release, on_file=on_file(session))
    return Release(release.folder, release.manifest)


def publish(
    release: ReleaseFolder | str | Path,
    to: str | Path,
    *,
    tables: str | Sequence[str | Sequence[str]] = (),
    only: Sequence[str] | None = None,
    ratios: Sequence[str] = (),
    formats: Sequence[str] = tuple(IN_PACKAGES),
    rounding: str = "error",
    quality: Quality | None = None,
    confidence: float | None = None,
    rows: str | None = None,
    key: str | Path | None = None,
    passphrase: str | None = None,
    replace: bool = False,
    nonnegative: bool | None = None,
    fixed: Sequence[Given] = (),
    against: ReleaseFolder | str | Path | None = None,
    session: Any = None,
) -> Package:
    """Makes the package of a release for the public in the folder `to`: titled tables with errors, flags and notes.

    `tables` are added to those of the release, each by some columns; `only` chooses among those of the release. Tables
    also have those `ratios`, such as "weekly-wage" or "pay = wage / jobs", whose attributes they have. Figures are
    fitted to all answers together. `rounding` is to what the "error" supports, to "whole" units that add up exactly
    over all tables, or "none". `quality` has the classes of coefficients of variation, and above which one a figure is
    withheld. `rows` asks for rows of establishments: "keep" has their ids, "none" leaves them out, "random" replaces
    them. With a private `key` the package is signed. `replace` takes the place of an earlier, unchanged package. With
    `against`, an earlier release, every table is followed by one of what changed since then.
    """
    if passphrase is not None and key is None:
        raise DomainError("a passphrase is of the key that signs. Give the key too, or leave both out")
    whole = True if rounding == "whole" else None
    fitted: dict[str, Any] = {"nonnegative": nonnegative, "whole": whole, "on_file": on_file(session)}
    microdata = find_microdata(_read(release), fixed=fixed, **fitted)
    before = None if against is None else find_microdata(_read(against), **fitted)
    added = tuple(map(_several, [tables] if isinstance(tables, str) else tables))
    shown = Presentation(rounding, quality or Quality(), confidence)
    chosen = None if only is None else _several(only)
    options = PackageOptions(added, chosen, _several(formats), shown, _several(ratios), rows)
    signed_with = None if key is None else Path(key)
    return write_package(
        microdata, Path(to), options, key=signed_with, passphrase=passphrase, replace=replace, against=before
    )


def _read(release: ReleaseFolder | str | Path) -> ReleaseFolder:
    return release if isinstance(release, ReleaseFolder) else read_folder(release)


def finish(ledger: Ledger | str | Path, folder: str | Path | None = None) -> list[Closed]:
    """Finishes releases that were interrupted after their first draw, or records in their ledger that they are lost.

    A release that is whole gets its name, never over something that is there, and its last entry. Any other is recorded
    as abandoned. The price of each was set aside before its first draw and stays spent. `folder` is where one release
    was to go, or the file of an answer; without it, every release of which the ledger knows no end is looked at.
    """
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, create=False)
    return finish_in(opened, None if folder is None else Path(folder))


@sealed
def ask(
    spec: Spec | str | Path,
    query: Callable[[Mapping[str, npt.NDArray[Any]]], npt.ArrayLike],
    *,
    name: str,
    attributes: Sequence[str],
    mu: Decimal | float | str,
    out: str | Path,
    sensitivity: Decimal | float | str | None = None,
    largest: Decimal | float | str | None = None,
    labels: Sequence[str] | None = None,
    table: ArrowStream | None = None,
    ledger: str | Path | None = None,
    decided_by: DecidedBy | None = None,
    seed: int | None = None,
) -> Answer:
    """Answers a query of your own about the table of a spec, with noise, in the file `out`: spends budget.

    `query` gets the named `attributes` and the public columns as arrays by name, and returns a number or a list of
    numbers, as many for every table. You state the `sensitivity`: the most by which the answer can move, in the L2
    norm, for every step of γ between two records of one establishment. It is at most k times as much for any two
    records, of all that a table can hold, that are k steps apart as `record_distance` counts them. The promise is as
    true as that statement, which is only tried on made-up values. No entry is beyond `largest`, whatever the table;
    there answers are cut off. The price μ is in the ledger before the query sees the table. Should it fail there, its
    price counts and its message is withheld.
    """
    read = spec if isinstance(spec, Spec) else read_spec(spec)
    named = list(_several(attributes))
    stated = {"name": name, "attributes": named, "labels": None if labels is None else list(labels)}
    numbers = {"mu": mu, "sensitivity": sensitivity, "largest": largest}
    asked = own_query(query, read, {**stated, **{key: as_decimal(number) for key, number in numbers.items()}})
    return carry_out_own(
        read,
        asked,
        table=table,
        out=Path(out),
        ledger=None if ledger is None else Path(ledger),
        decided_by=decided_by,
        entropy=None if seed is None else SeededEntropy(seed),
    )


@sealed
def check(
    spec: Spec | str | Path,
    table: ArrowStream | None = None,
    *,
    source: str | Path | None = None,
    period: str | Period | None = None,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    replace: bool = False,
    decided_by: DecidedBy | None = None,
    session: Any = None,
) -> PriceList:
    """Checks all that `run` would check before it spends anything, and says what every answer would cost."""
    read, keep = _about(spec, table, source, period), _files_of(spec)
    places: dict[str, Any] = {"out": out, "ledger": ledger, "replace": replace, "keep": keep}
    return plan_run(read, table=table, **places, decided_by=decided_by, session=session).prices


def _files_of(spec: Spec | str | Path) -> tuple[Path, ...]:
    """The file of a spec, which no release replaces."""
    return () if isinstance(spec, Spec) else (Path(spec),)


def _about(
    spec: Spec | str | Path, table: ArrowStream | None, source: str | Path | None, period: str | Period | None
) -> Spec:
    """The spec of one period and its table, which is handed over or named."""
    if table is not None and source is not None:
        raise DomainError("there are two tables: `table` and `source`. Leave one out")
    return for_period(spec if isinstance(spec, Spec) else read_spec(spec), period, source)


def _chance(zeta: Decimal | float) -> Decimal:
    number = as_decimal(zeta)
    if not isinstance(number, Decimal):
        raise DomainError("zeta is a chance: a number above 0 and below 1")
    return number


def _several(texts: Sequence[str]) -> tuple[str, ...]:
    """A text alone stands for a list of one."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def plan(
    spec: Spec | str | Path,
    like: str | Path | ArrowStream | ReleaseFolder | None = None,
    *,
    table: ArrowStream | None = None,
    mu: Sequence[float] = (),
    gamma_times: Sequence[float] = (),
    totals: Mapping[str, float] | None = None,
    progress: Progress = silent,
) -> Plan:
    """The errors to expect of every table of a spec, before anything is spent and without any confidential value.

    `like` is an earlier release, or a public or synthetic table; without it sizes are assumed as `typical` in the spec
    says. Which groups there are is read from the public columns of the table: the file that the spec names, or `table`;
    where there is neither, from `like`. `totals` are totals of attributes that are public already; sizes are scaled to
    them. `mu` are other prices of the whole release to compare with, `gamma_times` factors of every γ. `progress` is
    called as the work proceeds.
    """
    read = spec if isinstance(spec, Spec) else read_spec(spec)
    require_within_budget(price(read))
    require_noise(read)
    there = establishments_for(read, like, table).with_totals(public_totals(read, totals or {}))
    return make_plan(read, there, mu, gamma_times, progress)


@sealed
def draft_spec(
    source: str | Path,
    public: Sequence[str],
    *,
    id: str | None = None,  # noqa: A002 - as in the spec
    attributes: Sequence[str] | None = None,
    protect: Mapping[str, Sequence[str]] | None = None,
    reading: Mapping[str, Any] | None = None,
    yes_no: Sequence[str] = (),
) -> str:
    """The text of a first spec for a table, to be read and completed; no confidential value is looked at.

    `public` are the public columns. Without `attributes` all other columns of numbers are confidential.
    `protect` says for an attribute how far from some sizes values must count as close, as `choose` takes it. `reading`
    has the keys of `[data]` that say how the table is read, such as `encoding`. `yes_no` are confidential columns that
    hold 0 and 1 alone.
    """
    chosen = {name: choose(_several(demands))[0] for name, demands in (protect or {}).items()}
    public, attributes = _several(public), None if attributes is None else _several(attributes)
    how, flags = make_reading(reading or {}), _several(yes_no)
    shape = read_shape(source, public, id=id, attributes=attributes, protect=chosen, reading=how, yes_no=flags)
    return draft(shape)


@sealed
def open_table(spec: Spec, table: ArrowStream | str | Path | None = None) -> ConfidentialTable:
    """The confidential table of a spec, validated: the file that it names, another file, or a table in memory."""
    return open_table_of(spec, engine_of(spec, table))


@sealed
def measure(
    table: ConfidentialTable,
    spec: Spec,
    *,
    out: str | Path,
    ledger: Ledger | None = None,
    entropy: Entropy | None = None,
    zeta: Fraction | None = None,
    replace: bool = False,
    decided_by: DecidedBy | None = None,
    progress: Progress | None = None,
) -> Release:
    """Answers the queries of a spec about an open table and writes the release: the step below `run`.

    The price is on disk in `ledger` before the first draw. Only a table declared synthetic can do without a ledger or
    with another source of randomness than the system's. `decided_by` names who decided that the release may promise
    less than earlier ones from the same data.
    `zeta` is the chance, over all establishments and attributes, that clipping cuts some value at all: by default as
    the spec says, or else 1/100.
    """
    release = answer(
        prepare(table, spec),
        out=Path(out),
        ledger=ledger,
        entropy=entropy,
        zeta=zeta,
        replace=replace,
        decided_by=decided_by,
        progress=progress,
    )
    return Release(release.folder, release.manifest)


def read_release(folder: str | Path) -> Release:
    """The release in a folder, every file compared with its checksum."""
    release = read_folder(folder)
    return Release(release.folder, release.manifest)
