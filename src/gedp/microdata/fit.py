"""The protected microdata of a release: fitted, described, written."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp._version import __version__
from gedp.errors import Fault, FaultsError
from gedp.files import WriteError, replacing, sha256, write_text
from gedp.microdata.cells import Frame, read_frame
from gedp.microdata.constraints.apply import Constraints, constrain, read_constraints
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.weights import TOLERANCE, AttributeFit, fit_attribute
from gedp.neighbors.functions import FloatArray
from gedp.release import MANIFEST, Release

if TYPE_CHECKING:
    from gedp.microdata.ratios import Ratio

MICRODATA = "microdata.parquet"
WORKERS = 2

DETAIL = {
    "identity": "every row has an answer of its own",
    "cells": "no answers for establishments: the fitted total of each finest cell is divided by public weights",
    "undetermined": "no answers for establishments or finest cells: groups are divided by public weights",
}


@dataclass(frozen=True, repr=False)
class Microdata:
    """One value for every row and attribute that fits all the answers of a release best."""

    frame: Frame
    weights: str
    fits: Mapping[str, AttributeFit]
    share_by: str | None = None
    constraints: Constraints = field(default_factory=Constraints)

    def __repr__(self) -> str:
        return f"Microdata({self.frame.rows:,} rows, {', '.join(self.fits)})"

    @property
    def release(self) -> Release:
        """The release that it was fitted to."""
        return self.frame.release

    def table(self) -> pa.Table:
        """Id and public columns, and one protected column for each attribute."""
        columns = {name: self.frame.public[name] for name in self.frame.public.column_names}
        return pa.table({**columns, **{name: self._column(name) for name in self.fits}})

    def tabulate(
        self,
        by: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        confidence: float | None = None,
        ratios: "Sequence[str | Ratio]" = (),
    ) -> pa.Table:
        """Estimates and errors for every group of any grouping: see gedp.microdata.tabulate."""
        from gedp.microdata.tabulate import tabulate

        return tabulate(self, by, attributes, confidence, ratios)

    def tabulate_qcew(
        self, level: int, confidence: float | None = None, names: Mapping[str, str] | None = None
    ) -> pa.Table:
        """A table in the layout of the QCEW at an aggregation level: see gedp.microdata.qcew."""
        from gedp.microdata.qcew import tabulate_qcew

        return tabulate_qcew(self, level, confidence, names)

    def described(self) -> dict[str, Any]:
        """How it was fitted, for the file beside it."""
        return {
            "gedp": __version__,
            "manifest_sha256": sha256(self.release.folder / MANIFEST),
            "entropy": self.release.manifest.entropy,
            "rows": "establishments" if self.frame.lists_establishments else "cells",
            "weights": self.weights,
            "tolerance": TOLERANCE if self.weights == "quasi" else None,
            "public_weights": self.share_by or "every row alike",
            "constraints": self.constraints.described(),
            "attributes": {name: self._described(fit) for name, fit in self.fits.items()},
        }

    def write(self, path: Path | None = None) -> Path:
        """Writes the table, into the folder of the release unless told otherwise, and how it was fitted beside it."""
        path = path or self.release.folder / MICRODATA
        if path.suffix != ".parquet":
            raise WriteError(f"cannot write {path}: microdata are a Parquet file. Choose a name that ends in .parquet")
        beside = path.with_suffix(".json")
        self.release.require_not_part(path, beside)
        with replacing(path) as temporary:
            pq.write_table(self.table(), temporary, compression="zstd")
            described = {"file": path.name, "sha256": sha256(temporary), **self.described()}
            write_text(beside, json.dumps(described, indent=2, ensure_ascii=False) + "\n")
        return path

    def _column(self, name: str) -> pa.Array:
        unit = self.frame.spec.policy.attributes[name].unit
        are_integers = self.constraints.whole and unit == unit.to_integral_value()
        return pa.array(self.fits[name].values, pa.int64() if are_integers else pa.float64())

    def _described(self, fit: AttributeFit) -> dict[str, Any]:
        system = fit.cell_fit.system if fit.cell_fit else None
        return {
            "detail": fit.detail,
            "meaning": DETAIL[fit.detail],
            "cells": len(fit.totals),
            "groups": system.size if system else None,
            "solved": None if system is None else "directly" if system.is_direct else "by conjugate gradients",
            "residual": system.residual if system else None,
            "rounds": fit.rounds,
            "change": fit.change,
            "largest_change": fit.largest_change,
            "settled": fit.change <= TOLERANCE,
            "constrained": dict(fit.constrained),
        }


def fit_microdata(
    release: Release,
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
    """
    frame = read_frame(release)
    wanted = frame.attributes(attributes)
    chosen = weights or frame.spec.microdata.weights
    row_weights = None if share_by is None else _public_weights(frame, share_by)
    for name in wanted:
        frame.cells_of(name)  # once, before threads ask for them
    given = [fixed] if isinstance(fixed, str | Path | pa.Table) else list(fixed or ())
    said = frame.spec.microdata
    constraints = read_constraints(
        frame,
        wanted,
        said.nonnegative if nonnegative is None else nonnegative,
        said.whole if whole is None else whole,
        given,
    )

    def fit(name: str) -> AttributeFit:
        problem = frame.problem(name)
        best = fit_attribute(problem, chosen, row_weights)
        return constrain(problem, frame.spec.policy.attributes[name], best, constraints, row_weights)

    with ThreadPoolExecutor(WORKERS) as pool:
        fits = dict(zip(wanted, pool.map(fit, wanted), strict=True))
    return Microdata(frame, chosen, fits, share_by, constraints)


def _public_weights(frame: Frame, column: str) -> FloatArray:
    if column in frame.spec.data.public and column in frame.public.column_names:
        kind = frame.public[column].type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return np.asarray(frame.public[column].cast(pa.float64()).to_numpy(), dtype=np.float64)
    fault = Fault("share_by", f"{column!r} is no public column of numbers", "Name one, or leave it out")
    raise FaultsError(str(frame.release.folder), [fault])
