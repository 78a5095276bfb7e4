"""What was fitted to the answers of a release: the values, what they rest on, and the file that they are written to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gedp._version import __version__
from gedp.errors import DomainError, Refused
from gedp.files import WriteError, real, sha256, write_text, writing
from gedp.microdata.agreement import AgreedFit
from gedp.microdata.by_kind import FittedRows, FittedValues
from gedp.microdata.cells import PublicRows
from gedp.microdata.constraints.apply import Constraints
from gedp.microdata.weights import TOLERANCE, AttributeFit
from gedp.numbers import is_number
from gedp.partitions import Partition
from gedp.policy.values import MOST_CONFIDENCE
from gedp.release import MANIFEST, Labels, ReleaseFolder
from gedp.release.derived import MICRODATA, REPORT, drop_signature
from gedp.release.parts import digest, replacing_table
from gedp.tables import Table

FIXED_TOTALS = "fixed_totals"  # in the file beside the microdata, so that nobody has to give them again

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
class MicrodataFit:
    """What `Microdata` holds: fitted values by attribute, measured groups, and how both were made."""

    public_rows: PublicRows
    weights: str
    fits: Mapping[str, AttributeFit]
    share_by: str | None = None
    constraints: Constraints = field(default_factory=Constraints)
    measured: Mapping[str, AgreedFit] = field(default_factory=dict)
    is_on_file: bool = False  # whether the values are those in the folder of the release
    class_fits: dict[str, AgreedFit] = field(default_factory=dict, init=False, compare=False)  # made so far

    def __repr__(self) -> str:
        rows = f"{self.public_rows.listed:,} rows, " if self.fits else ""
        return f"{type(self).__name__}({rows}{', '.join(self.attributes)})"

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
        """Rejects microdata without any: there is nothing to write or to add up."""
        if not self.fits:
            raise Refused(
                f"{self.public_rows.source.name}: {NO_ROWS}. Its tables can be tabulated and reported all the same"
            )

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


def _how(fit: AttributeFit | AgreedFit) -> dict[str, Any]:
    """How the weights settled, for the file beside the microdata."""
    return {
        "rounds": fit.rounds,
        "change": fit.change,
        "largest_change": fit.largest_change,
        "settled": fit.change <= TOLERANCE,
    }


def fitted_values(fit: AttributeFit, cells: Partition) -> FittedValues:
    """How the fitted values of rows follow from their answers."""
    assert fit.row_answers is not None
    assert fit.cell_variances is not None
    assert fit.each_row is not None
    moved = (fit.totals - cells.sums(fit.row_answers)) / fit.cell_variances
    return FittedValues(cells.group_of, moved, fit.each_row)
