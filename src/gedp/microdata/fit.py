"""The protected microdata of a release: fitted, described, written."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp._version import __version__
from gedp.arrays import FloatArray
from gedp.errors import Fault, FaultsError, Refused
from gedp.files import WriteError, real, replacing, sha256, write_text, writing
from gedp.microdata.cells import PublicRows, read_public_rows
from gedp.microdata.constraints.apply import Constraints, constrain, read_constraints
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.measured import MeasuredFit, fit_measured
from gedp.microdata.problem import attribute_problem
from gedp.microdata.weights import TOLERANCE, AttributeFit, fit_attribute
from gedp.release import MANIFEST, ProtectedAnswers, ReleaseFolder
from gedp.release.derived import MICRODATA, REPORT, drop_signature
from gedp.tables import Table

if TYPE_CHECKING:
    from gedp.microdata.ratios import Ratio

FIXED_TOTALS = "fixed_totals"  # in the file beside the microdata, so that nobody has to give them again
WORKERS = 2

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

    def __repr__(self) -> str:
        rows = f"{self.public_rows.count:,} rows, " if self.fits else ""
        return f"Microdata({rows}{', '.join(self.attributes)})"

    def _repr_html_(self) -> str:
        shown = Table(self.table())._repr_html_() if self.fits else ""
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

    def table(self) -> pa.Table:
        """Id and public columns, and one protected column for each attribute that has values of the rows."""
        self.require_rows()
        columns = {name: self.public_rows.table[name] for name in self.public_rows.table.column_names}
        return pa.table({**columns, **{name: self._column(name) for name in self.fits}})

    def allows(self, by: Sequence[str], attribute: str) -> bool:
        """Whether a table of an attribute can be made by a grouping: any with rows, else those that were measured."""
        return attribute in self.fits or self.measured[attribute].allows(by)

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
    ) -> Table:
        """Estimates and errors for every group of any grouping: see gedp.microdata.tabulate."""
        from gedp.microdata.tabulate import tabulate

        return Table(tabulate(self, by, attributes, confidence, ratios))

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

        A report in that folder is about the microdata before, so it goes first: see gedp.publish for how to replace it.
        """
        self.require_rows()
        path = self.release.folder / MICRODATA if path is None else Path(path)
        if path.suffix != ".parquet":
            raise WriteError(f"cannot write {path}: microdata are a Parquet file. Choose a name that ends in .parquet")
        beside = path.with_suffix(".json")
        self.release.require_not_part(path, beside)
        with replacing(path) as temporary:
            keys = [name for name in self.public_rows.table.column_names if name != self.public_rows.spec.data.id]
            pq.write_table(self.table(), temporary, compression="zstd", use_dictionary=keys)  # others do not repeat
            described = {"file": path.name, "sha256": sha256(temporary), **self.described()}
            if self.is_place_on_file(path):
                with writing(report := self.release.folder / REPORT):
                    report.unlink(missing_ok=True)
                    drop_signature(self.release.folder)
            write_text(beside, json.dumps(described, indent=2, ensure_ascii=False) + "\n")
        return path

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
) -> Microdata:
    """Fits the microdata to all the answers of a release, and to nothing else.

    `weights` are quasi or plug-in, by default what the spec says. `share_by` names a public column by which cells are
    divided where there are no answers for establishments.

    `nonnegative` and `whole` ask for values of 0 or more and for whole units, by default as the spec says. `fixed` are
    public totals to be met exactly: tables, or .csv and .parquet files, with key columns and a column for each
    attribute (or `attribute` and `value`). See gedp.microdata.constraints.

    Attributes whose answers determine neither rows nor finest cells get no values. They stay for tables of measured
    groups, which no constraint changes.
    """
    public_rows = read_public_rows(release)
    wanted = public_rows.attributes(attributes)
    chosen = weights or public_rows.spec.microdata.weights
    row_weights = None if share_by is None else _public_weights(public_rows, share_by)
    with_rows = [name for name in wanted if public_rows.gives_rows(name)]
    without = [name for name in wanted if name not in with_rows]
    for name in with_rows:
        public_rows.cells_of(name)  # once, before threads ask for them
    given = [fixed] if isinstance(fixed, str | Path | pa.Table) else list(fixed or ())
    asked = Constraints.of(public_rows.spec.microdata, nonnegative=nonnegative, whole=whole)
    constraints = read_constraints(public_rows, with_rows, asked, given, without)

    def fit(name: str) -> AttributeFit:
        problem = attribute_problem(public_rows, name)
        best = fit_attribute(problem, chosen, row_weights)
        return constrain(problem, public_rows.spec.policy.attributes[name], best, constraints, row_weights)

    with ThreadPoolExecutor(WORKERS) as pool:
        fits = dict(zip(with_rows, pool.map(fit, with_rows), strict=True))
    measured = {name: fit_measured(public_rows, name, chosen) for name in without}
    return Microdata(public_rows, chosen, fits, share_by, constraints, measured)


def _public_weights(public_rows: PublicRows, column: str) -> FloatArray:
    if public_rows.has_rows and column in public_rows.spec.data.public and column in public_rows.table.column_names:
        kind = public_rows.table[column].type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return np.asarray(public_rows.table[column].cast(pa.float64()).to_numpy(), dtype=np.float64)
    fault = Fault("share_by", f"{column!r} is not a public column of numbers", "Name one, or leave it out")
    raise FaultsError(public_rows.source.name, [fault])
