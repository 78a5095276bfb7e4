"""From a release to a small problem: rows, finest cells, and which cells are in which groups of which query.

The rows are the establishments of the identity query. A release without one lists no establishments; then its rows are
the cells that its tables allow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
from scipy.special import ndtri

from gedp.errors import Fault, FaultsError
from gedp.estimates import PsiAnswers, psi_variance
from gedp.industries import ancestor_of
from gedp.microdata.solve import CodeArray, max_by
from gedp.neighbors import Linear, Log, NeighborFunction, Protection
from gedp.neighbors.functions import FloatArray
from gedp.policy import Attribute, Grouper, Query, Spec
from gedp.release import Release

MOST_JOINED_CELLS = 50_000_000
NAICS = "naics"  # a public column of this name can be grouped by these without a map file
INDUSTRY_LEVELS = {"domain": 1, "supersector": 2, "sector": 3}  # depths in the industry tree


@dataclass(frozen=True)
class PsiNoise:
    """The noise of the answers that the ψ-mechanism gave to one query for one attribute."""

    psi: NeighborFunction
    sigma: float
    least: float = 0.0  # no sum is below: the unit where ψ has no value at 0

    def variance(self, x: FloatArray) -> FloatArray:
        """The variance of an answer where the truth is x, or the least possible value if x is below it."""
        return psi_variance(self.psi, np.maximum(x, self.least) if self.least else x, self.sigma)


@dataclass(frozen=True)
class ClippedNoise:
    """The noise of clipped sums: a bound from the noisy answer of the group's largest establishment sets its scale."""

    protection: Protection
    sigma: float  # of the answers for establishments
    tau: float

    def sensitivity(self, omega: FloatArray) -> FloatArray:
        """How far one establishment can move the sum of a group whose largest ψ of an establishment is omega."""
        upper = PsiAnswers(self.protection.psi, omega, self.sigma).upper_bounds(self.tau)
        return upper - self.protection.interval(upper).low


@dataclass(frozen=True, repr=False)
class GroupAnswers:
    """One query's answers for one attribute, as released, and the group of every finest cell."""

    query: str
    of_cell: CodeArray
    answers: FloatArray
    variances: FloatArray  # as released: exact for pnc, at the estimate for psi
    by_psi: npt.NDArray[np.bool_]
    noise: PsiNoise
    sensitivity: FloatArray | None = None  # of clipped sums, at the noisy answers; None where nothing is clipped


@dataclass(frozen=True, repr=False)
class Cells:
    """The combinations of some grouping keys that occur, and the one of every row."""

    count: int
    of_row: CodeArray
    codes: Mapping[str, CodeArray]  # of every cell, for every key


@dataclass(frozen=True, repr=False)
class AttributeProblem:
    """Everything a release says about one attribute."""

    name: str
    cells: Cells
    groups: tuple[GroupAnswers, ...]
    estimates: FloatArray | None  # of the rows; None without an identity query for this attribute
    noise: PsiNoise | None  # of the identity answers
    clipped: ClippedNoise | None = None  # None where nothing is clipped, or values have both signs


@dataclass(repr=False)
class Frame:
    """The rows of the microdata with their public columns, and their grouping keys as codes."""

    release: Release
    spec: Spec
    public: pa.Table  # id and public columns of the establishments; grouping keys where the rows are cells
    lists_establishments: bool
    _keys: dict[str, tuple[CodeArray, list[str]]] = field(default_factory=dict)
    _cells: dict[tuple[str, ...], Cells] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of establishments, or of cells where none are listed."""
        return int(self.public.num_rows)

    def key(self, name: str) -> tuple[CodeArray, list[str]]:
        """A public column or grouping as codes of the rows, with the text of each code, sorted."""
        if name not in self._keys:
            grouper = self.spec.groupers.get(name, self._prefix(name))
            if name in self.public.column_names and name != self.spec.data.id:
                self._keys[name] = _encoded(self.public[name])
            elif grouper is not None and grouper.column in self.public.column_names:
                self._keys[name] = self.derived(grouper.column, lambda texts: self._lookup(grouper, texts))
            elif name in INDUSTRY_LEVELS and NAICS in self.public.column_names:
                self._keys[name] = self.derived(NAICS, lambda texts: self._industries(name, texts))
            else:
                unknown = Fault("by", f"{name!r} is no public column or grouping", self._what_there_is())
                raise FaultsError(str(self.release.folder), [unknown])
        return self._keys[name]

    def keys(self, names: Sequence[str]) -> list[tuple[CodeArray, list[str]]]:
        """Several; every unknown one in one error."""
        found, faults = [], list[Fault]()
        for name in names:
            try:
                found.append(self.key(name))
            except FaultsError as error:
                faults += error.faults
        if faults:
            raise FaultsError(str(self.release.folder), faults)
        return found

    def _what_there_is(self) -> str:
        columns = [name for name in self.public.column_names if name != self.spec.data.id]
        more = [*self.spec.groupers, *(INDUSTRY_LEVELS if NAICS in columns else ())]
        prefixes = [f"the first characters of a column, as in {NAICS}3"] if NAICS in columns else []
        return f"There are: {', '.join(dict.fromkeys([*columns, *more, *prefixes]))}"

    def attributes(self, chosen: Sequence[str] | None = None) -> list[str]:
        """Those of the release in its order, or of them the chosen; every unknown one in one error."""
        names = self.spec.asked
        unknown = [name for name in dict.fromkeys(chosen or ()) if name not in names]
        if unknown:
            faults = [
                Fault("attribute", f"{n!r} is not in this release", f"It has: {', '.join(names)}") for n in unknown
            ]
            raise FaultsError(str(self.release.folder), faults)
        return [name for name in names if chosen is None or name in chosen]

    def cells(self, keys: Sequence[str]) -> Cells:
        """The finest cells of these keys, in the order of their texts."""
        names = tuple(sorted(keys))
        if names not in self._cells:
            of_row, codes = combinations([codes for codes, _ in self.keys(names)], self.rows)
            count = len(codes[0]) if names else 1
            self._cells[names] = Cells(count, of_row, dict(zip(names, codes, strict=True)))
        return self._cells[names]

    def cells_of(self, attribute: str) -> Cells:
        """The finest cells of the queries that ask for an attribute."""
        asked = [query for query in self.spec.queries if attribute in query.mu and not query.is_identity]
        return self.cells(list(dict.fromkeys(key for query in asked for key in query.by)))

    def problem(self, name: str) -> AttributeProblem:
        """What the release says about one attribute."""
        asked = [query for query in self.spec.queries if name in query.mu]
        attribute = self.spec.policy.attributes[name]
        cells = self.cells_of(name)
        groups = tuple(self._group_answers(query, attribute, cells) for query in asked if not query.is_identity)
        for query in asked:
            if query.is_identity:
                noise = _noise(self.release, query.name, attribute)
                omega = self.release.identity([f"{name}__psi"])[f"{name}__psi"].to_numpy()
                estimates = PsiAnswers(noise.psi, omega, noise.sigma).estimate()
                if attribute.signed or all(group.by_psi.all() for group in groups):
                    return AttributeProblem(name, cells, groups, estimates, noise)
                clipped = ClippedNoise(attribute.protection, noise.sigma, self._tau())
                largest = max_by(cells.of_row, omega, cells.count)
                noisy = [max_by(group.of_cell, largest, len(group.answers)) for group in groups]
                groups = tuple(
                    replace(group, sensitivity=clipped.sensitivity(omega))
                    for group, omega in zip(groups, noisy, strict=True)
                )
                return AttributeProblem(name, cells, groups, estimates, noise, clipped)
        return AttributeProblem(name, cells, groups, None, None)

    def answers(self, query: Query, attribute: str, cells: Cells) -> tuple[pa.Table, CodeArray]:
        """The answers of a query for one attribute, and the place among them of every cell."""
        table = self.release.answers(query.name)
        table = table.filter(pa.compute.equal(table["attribute"], attribute))
        of_cell = np.zeros(cells.count, dtype=np.int64)
        of_group = np.zeros(table.num_rows, dtype=np.int64)
        for key in query.by:
            labels = self.key(key)[1]
            places = pa.compute.index_in(table[key].combine_chunks(), value_set=pa.array(labels, pa.string()))
            of_group = of_group * (len(labels) + 1) + places.fill_null(len(labels)).to_numpy()
            of_cell = of_cell * (len(labels) + 1) + cells.codes[key]
        order = np.argsort(of_group)
        found = np.minimum(np.searchsorted(of_group[order], of_cell), max(table.num_rows - 1, 0))
        if not table.num_rows or not np.array_equal(of_group[order][found], of_cell):
            lost = Fault(f"query {query.name!r}", "some establishments are in none of its groups", "Get a fresh copy")
            raise FaultsError(str(self.release.folder), [lost])
        return table, order[found].astype(np.int32)

    def _group_answers(self, query: Query, attribute: Attribute, cells: Cells) -> GroupAnswers:
        table, of_cell = self.answers(query, attribute.name, cells)
        return GroupAnswers(
            query.name,
            of_cell,
            table["estimate"].to_numpy(),
            table["variance"].to_numpy(),
            pa.compute.equal(table["mechanism"], "psi").to_numpy(),
            _noise(self.release, query.name, attribute),
        )

    def _tau(self) -> float:
        """By how many standard deviations the bounds of clipped sums are above the noisy answers."""
        identities = sum(len(query.mu) for query in self.spec.queries if query.is_identity)
        zeta = float(self.release.manifest.zeta or 0)
        return float(-ndtri(-np.expm1(np.log1p(-zeta) / (self.rows * identities))))

    def derived(self, column: str, derive: Callable[[list[str]], list[str]]) -> tuple[CodeArray, list[str]]:
        """A key made from the texts of another, all at once."""
        codes, texts = self.key(column)
        labels, of_text = _dense(derive(texts))
        return of_text[codes], labels

    def _industries(self, level: str, texts: Sequence[str]) -> list[str]:
        """The domain, supersector or sector of NAICS codes."""
        found = [ancestor_of(text, INDUSTRY_LEVELS[level]) for text in texts]
        unknown = found.count(None)
        if unknown:
            fault = Fault("by", f"{unknown} of {len(texts)} codes in column {NAICS} have no {level}", "Use a map file")
            raise FaultsError(str(self.release.folder), [fault])
        return [code for code in found if code is not None]

    def _prefix(self, name: str) -> Grouper | None:
        """`naics3` where there is a public column `naics` and no grouping of that name: its first three characters."""
        column = name.rstrip("0123456789")
        digits = name[len(column) :]
        if digits and int(digits) and column in self.public.column_names and column != self.spec.data.id:
            return Grouper(name, column, prefix=int(digits))
        return None

    def _lookup(self, grouper: Grouper, texts: Sequence[str]) -> list[str]:
        if grouper.prefix is not None:
            return [text[: grouper.prefix] for text in texts]
        known = self.release.map(grouper.name)
        return [known[text] for text in texts]


def read_frame(release: Release) -> Frame:
    """The rows of a release."""
    spec = release.manifest.spec
    if any(query.is_identity for query in spec.queries):
        plain = [*([spec.data.id] if spec.data.id else []), *spec.data.public]
        return Frame(release, spec, release.identity(plain), True)
    return Frame(release, spec, _possible_cells(release, spec), False)


def _noise(release: Release, query: str, attribute: Attribute) -> PsiNoise:
    answered = next(a for a in release.manifest.queries if a.query.name == query)
    psi = attribute.protection.psi
    least = float(attribute.unit) if isinstance(psi, Log) and not psi.shift else 0.0
    return PsiNoise(psi, answered.noise[attribute.name].sigma_psi, least)


def is_exact(noise: PsiNoise) -> bool:
    """Whether the variance is the same whatever the truth."""
    return isinstance(noise.psi, Linear)


def _possible_cells(release: Release, spec: Spec) -> pa.Table:
    """The natural join of the keys of all queries: every cell that no table rules out."""
    with duckdb.connect() as connection:
        joined, known = "(SELECT 0 AS one)", set[str]()
        for place, query in enumerate(sorted(spec.queries, key=lambda query: -len(query.by))):
            if not query.by:
                continue
            connection.register(f"keys{place}", release.answers(query.name).select(list(query.by)))
            columns = ", ".join(map(_quoted, query.by))
            shared = ", ".join(_quoted(key) for key in query.by if key in known)
            how = f"JOIN keys USING ({shared})" if shared else "CROSS JOIN keys"
            joined = f"(WITH keys AS (SELECT DISTINCT {columns} FROM keys{place}) SELECT * FROM {joined} {how})"
            known.update(query.by)
        ((count,),) = connection.execute(f"SELECT count(*) FROM {joined}").fetchall()
        if count > MOST_JOINED_CELLS:
            fault = Fault("queries", f"their groups allow {count:,} cells", "Add an identity query")
            raise FaultsError(str(release.folder), [fault])
        order = ", ".join(map(_quoted, sorted(known)))
        rows = f"SELECT * EXCLUDE (one) FROM {joined} ORDER BY {order}" if known else "SELECT 0 AS cell"
        return connection.sql(rows).to_arrow_table()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _encoded(column: pa.ChunkedArray) -> tuple[CodeArray, list[str]]:
    encoded = column.combine_chunks().dictionary_encode()
    values = pa.table({"value": encoded.dictionary})
    with duckdb.connect() as connection:  # the same texts as where the groups were made
        connection.register("codes", values)
        texts = [row[0] for row in connection.execute("SELECT value::VARCHAR FROM codes").fetchall()]
    labels, of_text = _dense(texts)
    return of_text[encoded.indices.to_numpy()], labels


def _dense(texts: Sequence[str]) -> tuple[list[str], CodeArray]:
    labels = sorted(set(texts))
    position = {label: place for place, label in enumerate(labels)}
    return labels, np.array([position[text] for text in texts], dtype=np.int32)


def combinations(columns: Sequence[CodeArray], rows: int) -> tuple[CodeArray, list[CodeArray]]:
    """The combinations of codes that occur, and the one of every row; compacted column by column."""
    of_row = np.zeros(rows, dtype=np.int32)
    found: list[CodeArray] = []
    for column in columns:
        size = int(column.max(initial=0)) + 1
        combined = of_row.astype(np.int64) * size + column
        count = (int(of_row.max(initial=0)) + 1) * size
        if count <= MOST_JOINED_CELLS:
            seen = np.zeros(count, dtype=bool)
            seen[combined] = True
            present = np.flatnonzero(seen)
            position = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            of_row = position[combined]
        else:
            present, places = np.unique(combined, return_inverse=True)
            of_row = places.astype(np.int32)
        before, last = np.divmod(present, size)
        found = [*(codes[before] for codes in found), last.astype(np.int32)]
    return of_row, found
