"""The protected microdata of a release: fitted, described, written."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp._version import __version__
from gedp.arrays import FloatArray, sum_by
from gedp.errors import DomainError, Fault, FaultsError, Refused
from gedp.files import WriteError, real, sha256, write_text, writing
from gedp.microdata.cells import Cells, PublicRows, Where, read_public_rows
from gedp.microdata.constraints.apply import Constraints, constrain, read_constraints
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.kinds import FittedRows, FittedValues, need_all_rows, read_kinds, stay_on_file
from gedp.microdata.measured import MeasuredFit, fit_measured
from gedp.microdata.problem import attribute_problem
from gedp.microdata.weights import TOLERANCE, AttributeFit, fit_attribute
from gedp.numbers import is_number
from gedp.passes import OnFile
from gedp.policy.values import MOST_CONFIDENCE
from gedp.release import MANIFEST, Labels, ProtectedAnswers, ReleaseFolder
from gedp.release.derived import MICRODATA, REPORT, drop_signature
from gedp.release.estimated import EstimatesTable
from gedp.release.parts import digest, replacing_table
from gedp.tables import Table

if TYPE_CHECKING:
    from gedp.microdata.changes_table import ChangesTable
    from gedp.microdata.classes import ClassFit
    from gedp.microdata.ratios import Ratio

FIXED_TOTALS = "fixed_totals"  # in the file beside the microdata, so that nobody has to give them again
WORKERS = 2
WORKERS_ON_FILE = 8  # of which one works and the others wait: what they ask of the rows is found in one pass

DETAIL = {
    "identity": "every row has an answer of its own",
    "cells": (
        "no answers for establishments: the fitted total of each finest cell is divided by public weights, so only "
        "sums of whole cells mean something"
    ),
    "groups": "no column: no answers for establishments or finest cells, so there are tables of measured groups alone",
}
ROWS_ARE_CELLS = "no answers for establishments: every row is a cell of the finest table, with the total that fits best"
NO_ROWS = (
    "there are no microdata: no query asks for establishments, and no query has groups from which those of all others "
    "follow, so the answers determine no rows"
)


@dataclass(frozen=True, repr=False)
class Microdata:
    """One value for every row and attribute that fits all the answers of a release best.

    Attributes whose answers do not determine such values are in `measured`: for tables of their measured groups.
    """

    public_rows: PublicRows
    weights: str
    fits: Mapping[str, AttributeFit]
    share_by: str | None = None
    constraints: Constraints = field(default_factory=Constraints)
    measured: Mapping[str, MeasuredFit] = field(default_factory=dict)
    is_on_file: bool = False  # whether the values are those in the folder of the release
    class_fits: "dict[str, ClassFit]" = field(default_factory=dict, init=False, compare=False)  # made so far

    def __repr__(self) -> str:
        rows = f"{self.public_rows.listed:,} rows, " if self.fits else ""
        return f"Microdata({rows}{', '.join(self.attributes)})"

    def _repr_html_(self) -> str:
        is_at_hand = self.fits and self.public_rows.kinds is None
        shown = Table(self.table())._repr_html_() if is_at_hand else ""
        return f"<p>{escape(repr(self))}</p>{shown}"

    @property
    def attributes(self) -> list[str]:
        """The names of all attributes, with values of the rows or only measured, in the order of the release."""
        return [name for name in self.public_rows.spec.asked if name in self.fits or name in self.measured]

    @property
    def release(self) -> ReleaseFolder:
        """The release that it was fitted to. What was fitted to a rehearsal is never written."""
        if not isinstance(self.public_rows.source, ReleaseFolder):
            raise Refused(f"{self.public_rows.source.name}: fitted to a rehearsal, which is never written")
        return self.public_rows.source

    @property
    def labels(self) -> Labels | None:
        """What people call things in the release; None for what was fitted to a rehearsal."""
        source = self.public_rows.source
        return source.labels if isinstance(source, ReleaseFolder) else None

    def table(self) -> pa.Table:
        """Id and public columns, and one protected column for each attribute that has values of the rows."""
        self.require_rows()
        if self.public_rows.kinds is not None:
            raise Refused(f"{self.public_rows.source.name}: the rows are on file. Write them, and read them in parts")
        rows = self.public_rows.table
        columns = {name: _without_codes(rows[name]) for name in rows.column_names}
        return pa.table({**columns, **{name: self._column(name) for name in self.fits}})

    def allows(self, by: Sequence[str], attribute: str) -> bool:
        """Whether a table of an attribute can be made by a grouping: any with rows, else those that were measured."""
        return attribute in self.fits or self.measured[attribute].allows(by)

    def confidence(self, given: float | None = None) -> float:
        """The confidence of intervals: the given one, or that of the spec."""
        found = float(self.public_rows.spec.output.confidence) if given is None else given
        if not is_number(found) or not 0 < found <= MOST_CONFIDENCE:
            raise DomainError(f"a confidence is a number above 0 and at most {MOST_CONFIDENCE}")
        return found

    def meaning(self, name: str) -> str:
        """What the values of an attribute rest on, in words."""
        if name in self.measured:
            return DETAIL["groups"]
        detail = self.fits[name].detail
        return DETAIL[detail] if self.public_rows.lists_establishments or detail != "cells" else ROWS_ARE_CELLS

    def require_rows(self) -> None:
        """Refuses microdata without any: there is nothing to write or to add up."""
        if not self.fits:
            raise Refused(
                f"{self.public_rows.source.name}: {NO_ROWS}. Its tables can be tabulated and reported all the same"
            )

    def tabulate(
        self,
        by: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        confidence: float | None = None,
        ratios: "Sequence[str | Ratio]" = (),
        where: Where | None = None,
    ) -> EstimatesTable:
        """Estimates and errors for every group of any grouping: see gedp.microdata.tabulate."""
        from gedp.microdata.tabulate import tabulate

        found = tabulate(self, by, attributes, confidence, ratios, where)
        return EstimatesTable(found, _keys(by), self.labels)

    def change(
        self,
        against: "Microdata",
        by: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        confidence: float | None = None,
        ratios: "Sequence[str | Ratio]" = (),
        where: Where | None = None,
    ) -> "ChangesTable":
        """The same table, and what changed since the release of other microdata: see gedp.microdata.comparing."""
        from gedp.microdata.changes_table import ChangesTable
        from gedp.microdata.comparing import change

        found = change(self, against, by, attributes, confidence, ratios, where)
        return ChangesTable(found, _keys(by), self.labels)

    def tabulate_qcew(
        self, level: int, confidence: float | None = None, names: Mapping[str, str] | None = None
    ) -> Table:
        """A table in the layout of the QCEW at an aggregation level: see gedp.microdata.qcew."""
        from gedp.microdata.qcew import tabulate_qcew

        return Table(tabulate_qcew(self, level, confidence, names))

    def described(self) -> dict[str, Any]:
        """How it was fitted, for the file beside it."""
        return {
            "gedp": __version__,
            "manifest_sha256": sha256(self.release.folder / MANIFEST),
            "entropy": self.release.manifest.entropy,
            "rows": "establishments" if self.public_rows.lists_establishments else "cells",
            "weights": self.weights,
            "tolerance": TOLERANCE if self.weights == "quasi" else None,
            "public_weights": self.share_by or "every row alike",
            "constraints": self.constraints.described(),
            FIXED_TOTALS: [table.to_pydict() for table in self.constraints.totals],
            "attributes": {name: self._described(name) for name in self.attributes},
        }

    def write(self, path: str | Path | None = None) -> Path:
        """Writes the table, into the folder of the release unless told otherwise, and how it was fitted beside it.

        A report in that folder is about the microdata before, so it goes first; `gedp.completing` replaces both.
        """
        self.require_rows()
        path = self.release.folder / MICRODATA if path is None else Path(path)
        if path.suffix != ".parquet":
            raise WriteError(f"cannot write {path}: microdata are a Parquet file. Choose a name that ends in .parquet")
        beside = path.with_suffix(".json")
        self.release.require_not_part(path, beside)
        with replacing_table(path) as temporary:
            self._write_rows(temporary)
            described = {"file": path.name, "sha256": digest(temporary), **self.described()}
            if self.is_place_on_file(path):
                with writing(report := self.release.folder / REPORT):
                    report.unlink(missing_ok=True)
                    drop_signature(self.release.folder)
            write_text(beside, json.dumps(described, indent=2, ensure_ascii=False) + "\n")
        return path

    def _write_rows(self, path: Path) -> None:
        public_rows, data = self.public_rows, self.public_rows.spec.data
        if public_rows.kinds is None:
            keys = [name for name in public_rows.table.column_names if name != data.id]
            pq.write_table(self.table(), path, compression="zstd", use_dictionary=keys)  # others do not repeat
            return
        kept = [*([data.id] if data.id else []), *data.public]
        values = {name: fitted_values(fit, public_rows.cells_of(name)) for name, fit in self.fits.items()}
        public_rows.kinds.opened().rewrite(FittedRows(public_rows.kinds.lookup, kept, values), path)

    def is_place_on_file(self, path: Path) -> bool:
        """Whether microdata at this path are those on file in the release."""
        return real(path) == real(self.release.folder / MICRODATA)

    def _column(self, name: str) -> pa.Array:
        unit = self.public_rows.spec.policy.attributes[name].unit
        are_integers = self.constraints.whole and unit == unit.to_integral_value()
        return pa.array(self.fits[name].values, pa.int64() if are_integers else pa.float64())

    def _described(self, name: str) -> dict[str, Any]:
        if name in self.measured:
            measured = self.measured[name]
            said = {"detail": "groups", "meaning": self.meaning(name), "groupings": measured.groupings()}
            return {**said, **_how(measured)}
        fit = self.fits[name]
        system = fit.cell_fit.system if fit.cell_fit else None
        return {
            "detail": fit.detail,
            "meaning": self.meaning(name),
            "cells": len(fit.totals),
            "groups": system.size if system else None,
            "solved": None if system is None else "directly" if system.is_direct else "by conjugate gradients",
            "residual": system.residual if system else None,
            **_how(fit),
            "constrained": dict(fit.constrained),
        }


def _without_codes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with its values in every row, and not in a dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _how(fit: AttributeFit | MeasuredFit) -> dict[str, Any]:
    """How the weights settled, for the file beside the microdata."""
    return {
        "rounds": fit.rounds,
        "change": fit.change,
        "largest_change": fit.largest_change,
        "settled": fit.change <= TOLERANCE,
    }


def fit_microdata(
    release: ProtectedAnswers,
    *,
    weights: str | None = None,
    attributes: Sequence[str] | None = None,
    share_by: str | None = None,
    nonnegative: bool | None = None,
    whole: bool | None = None,
    fixed: Given | Sequence[Given] | None = None,
    on_file: OnFile | None = None,
) -> Microdata:
    """Fits the microdata to all the answers of a release, and to nothing else.

    `weights` are quasi or plug-in, by default what the spec says. `share_by` names a public column by which cells are
    divided where there are no answers for establishments.

    `nonnegative` and `whole` ask for values of 0 or more and for whole units, by default as the spec says. `fixed` are
    public totals to be met exactly: tables, or .csv and .parquet files, with key columns and a column for each
    attribute (or `attribute` and `value`). See gedp.microdata.constraints.

    Attributes whose answers determine neither rows nor finest cells get no values. They stay for tables of measured
    groups, which no constraint changes.

    With `on_file` the rows of very many establishments stay there, and whatever it opens them with goes over them. Some
    fits need all rows in memory: see gedp.microdata.kinds.
    """
    spec = release.manifest.spec
    chosen = weights or spec.microdata.weights
    given = [fixed] if isinstance(fixed, str | Path | pa.Table) else list(fixed or ())
    asked = Constraints.of(spec.microdata, nonnegative=nonnegative, whole=whole)
    is_plain = chosen == "quasi" and share_by is None and not given and not asked.named
    public_rows = _public_rows(release, on_file, is_plain=is_plain)
    wanted = public_rows.attributes(attributes)
    row_weights = None if share_by is None else _public_weights(public_rows, share_by)
    with_rows = [name for name in wanted if public_rows.gives_rows(name)]
    without = [name for name in wanted if name not in with_rows]
    kinds = public_rows.kinds
    for name in with_rows:  # once, before threads ask for them
        public_rows.cells_of(name)
        if kinds is not None:
            kinds.together(name)
    constraints = read_constraints(public_rows, with_rows, asked, given, without)

    beside_others = nullcontext if kinds is None else kinds.parting.member

    def fit(name: str) -> AttributeFit:
        with beside_others():
            problem = attribute_problem(public_rows, name)
            best = fit_attribute(problem, chosen, row_weights)
        return constrain(problem, public_rows.spec.policy.attributes[name], best, constraints, row_weights)

    with ThreadPoolExecutor(WORKERS if kinds is None else WORKERS_ON_FILE) as pool:
        fits = dict(zip(with_rows, pool.map(fit, with_rows), strict=True))
    measured = {name: fit_measured(public_rows, name, chosen) for name in without}
    return Microdata(public_rows, chosen, fits, share_by, constraints, measured)


def _public_rows(release: ProtectedAnswers, on_file: OnFile | None, *, is_plain: bool) -> PublicRows:
    """The establishments one by one, or by kind where they stay on file."""
    if on_file is None or not isinstance(release, ReleaseFolder):
        return read_public_rows(release)
    spec = release.manifest.spec
    if is_plain and stay_on_file(spec, release.manifest.establishments, on_file):
        return read_kinds(release, on_file)
    if not on_file.always:
        return read_public_rows(release)
    reasons = need_all_rows(spec) or ["constraints, public weights and plug-in weights are worked out row by row"]
    raise Refused(
        f"{release.name}: these microdata cannot be fitted with Spark: {'; '.join(reasons)}. Fit them in the memory of "
        "one machine, without --engine spark"
    )


def fitted_values(fit: AttributeFit, cells: Cells) -> FittedValues:
    """How the fitted values of rows follow from their answers."""
    assert fit.row_answers is not None
    assert fit.cell_variances is not None
    assert fit.each_row is not None
    sums = sum_by(cells.of_row, fit.row_answers, cells.count)
    return FittedValues(cells.of_row, (fit.totals - sums) / fit.cell_variances, fit.each_row)


def _keys(by: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([by] if isinstance(by, str) else by))


def _public_weights(public_rows: PublicRows, column: str) -> FloatArray:
    if public_rows.has_rows and column in public_rows.spec.data.public and column in public_rows.table.column_names:
        kind = public_rows.table[column].type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return np.asarray(public_rows.table[column].cast(pa.float64()).to_numpy(), dtype=np.float64)
    fault = Fault("share_by", f"{column!r} is not a public column of numbers", "Name one, or leave it out")
    raise FaultsError(public_rows.source.name, [fault])
