"""The protected microdata of a release, fitted to all its answers; tables of them."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gedp.arrays import FloatArray
from gedp.errors import Fault, FaultsError, Refused
from gedp.microdata.agreement import fit_measured
from gedp.microdata.by_kind import read_kinds
from gedp.microdata.cells import PublicRows, Where, read_public_rows
from gedp.microdata.changes_table import ChangesTable
from gedp.microdata.comparing import change
from gedp.microdata.constraints.apply import Constraints, constrain, read_constraints
from gedp.microdata.constraints.fixed import Given, given_totals
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.kinds import need_all_rows, stay_on_file
from gedp.microdata.problem import attribute_problem
from gedp.microdata.qcew import tabulate_qcew
from gedp.microdata.ratios import Ratio
from gedp.microdata.request import TableRequest
from gedp.microdata.tabulate import tabulate
from gedp.microdata.weights import AttributeFit, fit_attribute
from gedp.passes import OnFile
from gedp.release import ProtectedAnswers, ReleaseFolder
from gedp.release.estimated import EstimatesTable
from gedp.tables import Table

WORKERS = 2
WORKERS_ON_FILE = 8  # of which one works and the others wait: what they ask of the rows is found in one pass


@dataclass(frozen=True, repr=False)
class Microdata(MicrodataFit):
    """One value for every row and attribute that fits all the answers of a release best.

    Attributes whose answers do not determine such values are in `measured`: for tables of their measured groups.
    """

    def tabulate(
        self,
        by: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        confidence: float | None = None,
        ratios: Sequence[str | Ratio] = (),
        where: Where | None = None,
    ) -> EstimatesTable:
        """Estimates and errors for every group of any grouping: see gedp.microdata.tabulate."""
        request = TableRequest.of(by, attributes, confidence, ratios, where)
        return EstimatesTable(tabulate(self, request), request.by, self.labels)

    def change(
        self,
        against: "Microdata",
        by: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        confidence: float | None = None,
        ratios: Sequence[str | Ratio] = (),
        where: Where | None = None,
    ) -> ChangesTable:
        """The same table, and what changed since the release of other microdata: see gedp.microdata.comparing."""
        request = TableRequest.of(by, attributes, confidence, ratios, where)
        return ChangesTable(change(self, against, request), request.by, self.labels)

    def tabulate_qcew(
        self, level: int, confidence: float | None = None, names: Mapping[str, str] | None = None
    ) -> Table:
        """A table in the layout of the QCEW at an aggregation level: see gedp.microdata.qcew."""
        return Table(tabulate_qcew(self, level, confidence, names))


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
    public_rows: PublicRows | None = None,
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
    fits need all rows in memory: see gedp.microdata.kinds. `public_rows` are those of the release, if they were read
    already.
    """
    spec = release.manifest.spec
    chosen = weights or spec.microdata.weights
    given = given_totals(fixed)
    asked = Constraints.of(spec.microdata, nonnegative=nonnegative, whole=whole)
    is_plain = chosen == "quasi" and share_by is None and not given and not asked.named
    public_rows = _public_rows(release, on_file, public_rows, is_plain=is_plain)
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


def _public_rows(
    release: ProtectedAnswers, on_file: OnFile | None, known: PublicRows | None, *, is_plain: bool
) -> PublicRows:
    """The establishments one by one, if they are not known already, or by kind where they stay on file."""
    if on_file is None or not isinstance(release, ReleaseFolder):
        return known or read_public_rows(release)
    spec = release.manifest.spec
    if is_plain and stay_on_file(spec, release.manifest.establishments, on_file):
        return read_kinds(release, on_file)
    if not on_file.always:
        return known or read_public_rows(release)
    reasons = need_all_rows(spec) or ["constraints, public weights and plug-in weights are worked out row by row"]
    raise Refused(
        f"{release.name}: these microdata cannot be fitted with Spark: {'; '.join(reasons)}. Fit them in the memory of "
        "one machine, without --engine spark"
    )


def _public_weights(public_rows: PublicRows, column: str) -> FloatArray:
    if public_rows.has_rows and column in public_rows.spec.data.public and column in public_rows.table.column_names:
        kind = public_rows.table[column].type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return np.asarray(public_rows.table[column].cast(pa.float64()).to_numpy(), dtype=np.float64)
    fault = Fault("share_by", f"{column!r} is not a public column of numbers", "Name one, or leave it out")
    raise FaultsError(public_rows.source.name, [fault])
