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

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from pathlib import Path

from gedp.confidential.engines import ArrowStream
from gedp.confidential.engines.choice import engine_for
from gedp.confidential.measure import answer
from gedp.confidential.mechanisms import ZETA
from gedp.confidential.preparing import prepare
from gedp.confidential.run import Plan, plan_run
from gedp.confidential.run import run as carry_out
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable
from gedp.confidential.table import open_table as open_engine
from gedp.ledger import DecidedBy, Ledger
from gedp.microdata import Microdata
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.on_file import find_microdata
from gedp.noise.entropy import Entropy, SeededEntropy
from gedp.policy import PriceList, Spec, read_spec
from gedp.progress import Progress
from gedp.publish import publish
from gedp.release import ReleaseFolder
from gedp.release import read_release as read_folder
from gedp.tables import Table


class Release(ReleaseFolder):
    """A release in its folder, and what can be made of it. Nothing here sees the confidential table."""

    @property
    def spec(self) -> Spec:
        """What was asked, and what is promised."""
        return self.manifest.spec

    def table(self, query: str) -> Table:
        """The answers of a query as they were drawn, with their errors. Tables of `microdata` are more exact."""
        return Table(self.answers(query))

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
    ) -> Microdata:
        """One protected table that fits all answers best: the one on file, or fitted now.

        `weights` are "quasi" or "plug-in"; `nonnegative` and `whole` constrain the values; `fixed` are public totals to
        meet. What is not given is as on file, or else as the spec says.
        """
        return find_microdata(self, weights=weights, nonnegative=nonnegative, whole=whole, fixed=fixed)

    def __repr__(self) -> str:
        manifest = self.manifest
        queries = ", ".join(answered.query.name for answered in manifest.queries)
        warning = ", NOT PROTECTED: seeded" if manifest.is_seeded else ""
        return f"Release({self.name}: {queries}; mu = {manifest.prices.total.mu:.6g}{warning})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.manifest.prices._repr_html_()}"


@sealed
def run(
    spec: Spec | str | Path,
    table: ArrowStream | None = None,
    *,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    replace: bool = False,
    decided_by: DecidedBy | None = None,
    seed: int | None = None,
    answers_only: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Answers the queries of a spec with noise, and writes the release with its microdata and report: spends budget.

    The table is the file that the spec names, or a DataFrame or table of pandas, polars, pyarrow or DuckDB. `out` is
    the folder of the release, by default as the spec says. The price is in the ledger before any noise is drawn: beside
    a confidential file one is found or made; for a confidential `table` one must be named. `seed` makes noise that can
    be repeated and protects nothing; it is for synthetic data. `answers_only` leaves out microdata and report.
    """
    plan = _planned(spec, table, out, ledger, replace, decided_by, None if seed is None else SeededEntropy(seed))
    release = carry_out(plan, progress=progress)
    if not answers_only:
        publish(release)
    return Release(release.folder, release.manifest)


@sealed
def check(
    spec: Spec | str | Path,
    table: ArrowStream | None = None,
    *,
    out: str | Path | None = None,
    ledger: str | Path | None = None,
    replace: bool = False,
    decided_by: DecidedBy | None = None,
) -> PriceList:
    """Checks all that `run` would check before it spends anything, and says what every answer would cost."""
    return _planned(spec, table, out, ledger, replace, decided_by).prices


def _planned(
    spec: Spec | str | Path,
    table: ArrowStream | None,
    out: str | Path | None,
    ledger: str | Path | None,
    replace: bool,
    decided_by: DecidedBy | None,
    entropy: Entropy | None = None,
) -> Plan:
    return plan_run(
        spec if isinstance(spec, Spec) else read_spec(spec),
        table=table,
        out=None if out is None else Path(out),
        ledger=None if ledger is None else Path(ledger),
        replace=replace,
        keep=() if isinstance(spec, Spec) else (Path(spec),),
        decided_by=decided_by,
        entropy=entropy,
    )


@sealed
def open_table(spec: Spec, table: ArrowStream | str | Path | None = None) -> ConfidentialTable:
    """The confidential table of a spec, validated: the file that it names, another file, or a table in memory."""
    engine = engine_for(spec.source_path() if table is None else table)
    return open_engine(engine, spec.data, spec.policy.attributes, spec.groupers, spec.folder)


@sealed
def measure(
    table: ConfidentialTable,
    spec: Spec,
    *,
    out: str | Path,
    ledger: Ledger | None = None,
    entropy: Entropy | None = None,
    zeta: Fraction = ZETA,
    replace: bool = False,
    decided_by: DecidedBy | None = None,
    progress: Progress | None = None,
) -> Release:
    """Answers the queries of a spec about an open table and writes the release: the step below `run`.

    The price is on disk in `ledger` before the first draw. Only a table declared synthetic can do without a ledger or
    with another source of randomness than the system's. `decided_by` names who decided that the release may promise
    less than earlier ones from the same data.
    `zeta` is the chance, over all establishments and attributes, that clipping cuts some value at all.
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
