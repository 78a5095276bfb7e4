"""A query of one's own, answered by the paper's general mechanism; its price is recorded before it sees the table.

How much one establishment can move the answer is stated by whoever asks: by at most k times the sensitivity, between
any two records that a table can hold and that are k steps apart. gedp cannot prove it; it looks for a contradiction on
made-up values, before anything is spent. Everything that the answer's form could give away is fixed
there too: the number of entries, their labels, their bound. On the confidential table the function can only fail, which
costs its price and says nothing, or give an answer that is cut off at the bound and leaves with noise.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gedp._version import __version__
from gedp.accounting.composition import PrivacyLoss, exact
from gedp.arrays import FloatArray, IntArray
from gedp.confidential.dummy_data import DummyData
from gedp.confidential.engines import ArrowStream, in_order
from gedp.confidential.engines.choice import engine_of
from gedp.confidential.mechanisms import estab_gaussian
from gedp.confidential.preparing import noise_for, require_sound
from gedp.confidential.recording import Record, known_by, paid_by, record, released_at
from gedp.confidential.run import ledger_for, left_in
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable, open_table_of
from gedp.errors import Fault, FaultsError, GedpError, Refused, TableChangedError
from gedp.files import real, require_writable, writing
from gedp.folders import Claim
from gedp.ledger import DecidedBy, Ledger, Request
from gedp.ledger.finishing import release_in, require_nothing_left
from gedp.noise.entropy import Entropy
from gedp.noise.grid import Grid
from gedp.passes import Reads
from gedp.policy import Attribute, PriceLine, PriceList, Spec
from gedp.policy.pricing import charges_of
from gedp.policy.section import Faults, Section, did_you_mean
from gedp.release.answer import Answer, name_answer, write_answer

Values = Mapping[str, npt.NDArray[Any]]  # by name of the column
MOST_ENTRIES = 1_000_000
#: What floating point may do to an answer, as a part of its bound; charged by the mechanism.
ROUNDING = 1e-12


class QueryFailedError(GedpError):
    """The function of a query of one's own could not be used. What it said is withheld: it could quote a record."""


@dataclass(frozen=True, repr=False)
class OwnQuery:
    """What a query computes from named attributes and the public columns, and what its author states about it."""

    function: Callable[[Values], npt.ArrayLike]
    name: str
    attributes: tuple[str, ...]
    mu: Decimal
    sensitivity: Decimal
    largest: Decimal
    labels: tuple[str, ...] = ()


def own_query(function: Callable[[Values], npt.ArrayLike], spec: Spec, stated: dict[str, Any]) -> OwnQuery:
    """The query with what was stated about it; every fault in one error."""
    faults = Faults({})
    section = Section(faults, (), {key: value for key, value in stated.items() if value is not None})
    known = spec.policy.attributes
    names = section.names("attributes")
    for name in names:
        if name not in known:
            section.fault("attributes", f"{name!r} is not a confidential attribute", did_you_mean(name, sorted(known)))
    if not names and ("attributes",) not in faults.by_path:
        section.fault("attributes", "there are none", "Name the confidential columns that the function uses")
    name = section.text("name")
    if name and not (name.isprintable() and len(name) <= 200):
        section.fault("name", "it cannot be shown on one line", "Use up to 200 printable characters")
    if not section.has("sensitivity"):
        hint = "State how far one establishment can move the answer (L2 norm) for every step of its intervals"
        section.fault("sensitivity", "without one there is no privacy", hint)
    if spec.policy.unit is not None:
        problem = f"it is about one record, and the spec protects all records of a unit ({spec.policy.unit}) at once"
        section.fault("sensitivity", problem, "Ask for it in a query of the spec, which knows the units")
    sensitivity = section.number("sensitivity", Decimal(1))
    mu, largest, labels = section.number("mu"), section.number("largest"), section.names("labels", ())
    if unshown := sum(not label.isprintable() for label in labels):
        section.fault("labels", f"{unshown} of them cannot be shown on one line", "Use printable characters")
    if faults.found:
        raise FaultsError("the query", faults.found)
    return OwnQuery(function, name, names, mu, sensitivity, largest, labels)


def as_decimal(number: Decimal | float | str | None) -> object:
    """A number as it is written; anything else stays as it is, for the reader to reject."""
    with suppress(ArithmeticError, TypeError, ValueError):
        return None if number is None else Decimal(number if isinstance(number, str) else str(number))
    return number


@sealed
def ask(
    spec: Spec,
    query: OwnQuery,
    *,
    table: ArrowStream | None,
    out: Path,
    ledger: Path | None,
    decided_by: DecidedBy | None,
    entropy: Entropy | None,
) -> Answer:
    """Answers a query of one's own and writes it to a file: this spends budget."""
    spec = require_sound(spec)
    entropy = noise_for(spec, entropy)
    _require_free(out)
    engine = engine_of(spec, table)
    opened = open_table_of(spec, engine)
    found = ledger_for(engine, spec, ledger)
    request = _request(spec, query, seeded=entropy.kind != "system")
    left_in(found, request, known_by(engine, spec), decided_by)
    public = _PublicColumns.of(opened)
    attributes = {name: spec.policy.attributes[name] for name in query.attributes}
    entries = _rehearsed(query, attributes, public)
    grid = estab_gaussian(entries, query.sensitivity, query.mu, largest=float(query.largest), relative_error=ROUNDING)
    engine.require_unchanged()
    own = None if found is None else Ledger.open(found, create=not found.exists())
    claim, recorded = Claim(real(out), consequence="nothing was spent"), None
    try:
        with writing(out):
            claim.take(partial(require_nothing_left, own))
        _require_free(out)  # of two who want it, the second is refused before it spends anything
        if own is not None:
            note = f"a query of one's own; sensitivity {query.sensitivity} as stated by whoever asked"
            recorded = record(own, engine, request, spec, out, decided_by, note)
        paid = paid_by(recorded, entropy)
        noisy = grid.noisy(_true_answer(query, opened, attributes, public, entries, grid, paid), paid)
        answer = _answer(query, attributes, grid, noisy, entropy, recorded)
        with writing(out):
            write_answer(answer, claim.folder)
        name_answer(claim.folder, out)
        claim.give_up()
        if recorded is not None:
            recorded.finish(out)
    except BaseException as failure:
        left = claim.folder if recorded is not None and release_in(claim.folder) == recorded.release else None
        if recorded is not None and recorded.fail(out, failure, left) and left is not None:
            claim.leave()
        raise
    finally:
        claim.give_up()
    return answer


def _require_free(out: Path) -> None:
    if os.path.lexists(out):
        raise Refused(f"{out} already exists and nothing was spent. Choose another file")
    require_writable(out)


def _request(spec: Spec, query: OwnQuery, *, seeded: bool) -> Request:
    """One answer over several attributes costs μ once: the ledger has a line for each, the first with the price."""
    mus = [query.mu, *[Decimal(0)] * (len(query.attributes) - 1)]
    lines = (PriceLine(query.name, name, PrivacyLoss.of(mu)) for name, mu in zip(query.attributes, mus, strict=True))
    charges = charges_of(spec, [(query.attributes, PrivacyLoss.of(query.mu))])
    return Request.of(spec, seeded=seeded, prices=PriceList(tuple(lines), spec.policy.budget, charges=charges))


@dataclass(frozen=True, repr=False)
class _PublicColumns:
    """The public columns in the order of the table, and their codes, which put rows into an order that is public."""

    columns: dict[str, npt.NDArray[Any]]
    codes: tuple[npt.NDArray[np.int32], ...]
    rows: int

    @classmethod
    def of(cls, table: ConfidentialTable) -> "_PublicColumns":
        names, rows = list(table.data.public), table.engine.rows()
        batches = list(in_order(table.engine).batches(Reads(coded=names, plain=names))) if names else []
        if names and sum(batch.plain.num_rows for batch in batches) != rows:
            raise TableChangedError
        columns = {
            name: np.concatenate([batch.plain[name].to_numpy(zero_copy_only=False) for batch in batches])
            for name in names
        }
        codes = tuple(np.concatenate([batch.codes[name] for batch in batches]) for name in names)
        return cls(columns, codes, rows)

    def order(self, ties: npt.NDArray[Any]) -> IntArray:
        """The rows by their public columns; those that have the same by `ties`."""
        return np.lexsort((ties, *self.codes[::-1]))

    def ordered(self, order: IntArray) -> dict[str, npt.NDArray[Any]]:
        """The columns in this order."""
        return {name: column[order] for name, column in self.columns.items()}


def _rehearsed(query: OwnQuery, attributes: Mapping[str, Attribute], public: _PublicColumns) -> int:
    """The number of entries, found on made-up values; rejects what fails there or contradicts what was stated."""
    columns = public.ordered(public.order(np.arange(public.rows)))

    def asked(units: Mapping[str, IntArray]) -> FloatArray:
        try:
            return _vector(query, columns, _values(units, attributes))
        except Exception as error:
            raise QueryFailedError(
                f"{query.name}: the function failed on made-up values ({type(error).__name__}); nothing was spent. It "
                "takes columns by name, as arrays of numbers or public codes, and returns a number or a list of numbers"
            ) from None

    dummy_data = DummyData.of(attributes, public.rows)
    answer = asked(dummy_data.table())
    problems = list(_form_problems(query, answer))
    if not problems and not np.array_equal(asked(dummy_data.table()), answer):
        problems.append(Fault("query", "it answers the same table in two ways", "Leave randomness to gedp"))
    if not problems:
        problems += islice(_contradictions(query, dummy_data, answer, asked), 1)
    if problems:
        raise FaultsError(f"the query {query.name}", problems)
    return answer.size


def _form_problems(query: OwnQuery, answer: FloatArray) -> Iterator[Fault]:
    if not 1 <= answer.size <= MOST_ENTRIES:
        yield Fault("query", "it gives no entries, or too many", f"Return 1 to {MOST_ENTRIES:,} numbers")
    elif query.labels and len(query.labels) != answer.size:
        problem = f"there are {len(query.labels)} for {answer.size} entries"
        yield Fault("labels", problem, "Give one for each entry, or none")
    if not np.isfinite(answer).all():
        yield Fault("query", "on made-up values it gives entries that are missing or infinite", "Return numbers")
    elif (np.abs(answer) > float(query.largest)).any():
        problem = f"on made-up values an entry is beyond {query.largest}"
        yield Fault("largest", problem, "State a bound that holds for every possible table")


def _contradictions(
    query: OwnQuery, dummy_data: DummyData, answer: FloatArray, asked: Callable[[Mapping[str, IntArray]], FloatArray]
) -> Iterator[Fault]:
    """What contradicts the stated sensitivity: establishment by establishment, if any two records show it."""
    for row, records in dummy_data.moves(answer.size):
        answers = [asked(dummy_data.table(row, record)) for record in records]
        if any(other.shape != answer.shape or not np.isfinite(other).all() for other in answers):
            problem = "the form of its answer depends on confidential values"
            yield Fault("query", problem, "Return the same number of finite entries for every table")
        else:
            yield from _moved_too_far(query, answers, dummy_data.steps(records))


def _moved_too_far(query: OwnQuery, answers: Sequence[FloatArray], steps: FloatArray) -> Iterator[Fault]:
    """Of the answers to tables that are so many steps apart, two that contradict the stated sensitivity most."""
    rounding = 2 * ROUNDING * float(query.largest) * answers[0].size ** 0.5
    found: list[tuple[float, float, float]] = []
    for one, other in combinations(range(len(answers)), 2):
        moved, apart = float(np.linalg.norm(answers[one] - answers[other])), float(steps[one, other])
        if moved > float(query.sensitivity) * apart * (1 + 1e-9) + rounding:
            found.append((apart / moved, apart, moved))
    if found:
        _, apart, moved = min(found)
        where, stated = "inside its intervals", f"the {query.sensitivity} that was stated"
        if apart != 1:
            where, stated = f"by {apart:.0f} steps", f"{apart:.0f} times {stated}"
        problem = f"one made-up establishment that moved {where} moved the answer by {moved:.6g}, more than {stated}"
        yield Fault("sensitivity", problem, "Work it out again, for all values that a table can hold")


def _true_answer(
    query: OwnQuery,
    table: ConfidentialTable,
    attributes: Mapping[str, Attribute],
    public: _PublicColumns,
    entries: int,
    grid: Grid,
    entropy: Entropy,
) -> FloatArray:
    """The answer from the confidential table, cut off at the stated bound, which never spreads two answers apart."""
    units = {name: exact(attribute.unit) for name, attribute in attributes.items()}
    batches = list(in_order(table.engine).batches(Reads(amounts=units)))
    amounts = {name: np.concatenate([batch.amounts[name] for batch in batches]) for name in attributes}
    if any(len(column) != public.rows for column in amounts.values()):
        raise TableChangedError
    table.engine.require_unchanged()
    order = public.order(entropy.words(public.rows))  # whose price is on disk before the function sees the table
    shuffled = {name: column[order] for name, column in amounts.items()}
    failed = f"{query.name}: the function failed on the confidential table, or its answer has another form there"
    try:
        answer = _vector(query, public.ordered(order), _values(shuffled, attributes))
        sound = answer.size == entries and not np.isnan(answer).any()
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None
    except BaseException:  # whatever it says could quote a record, and so could how it says it
        sound = False
    if not sound:
        raise QueryFailedError(f"{failed}. What it said is withheld: it could quote a record")
    return np.clip(answer, -grid.largest, grid.largest)


def _vector(query: OwnQuery, public: Values, values: Values) -> FloatArray:
    """What the function makes of columns that it cannot change."""
    columns = {**public, **values}
    for column in columns.values():
        column.flags.writeable = False
    answer = np.atleast_1d(np.array(query.function(columns), dtype=np.float64))
    if answer.ndim != 1:
        raise ValueError
    return answer


def _values(units: Mapping[str, IntArray], attributes: Mapping[str, Attribute]) -> dict[str, FloatArray]:
    """Whole units as the values that they stand for."""
    return {name: np.multiply(column, float(attributes[name].unit), dtype=np.float64) for name, column in units.items()}


def _answer(
    query: OwnQuery,
    attributes: Mapping[str, Attribute],
    grid: Grid,
    noisy: FloatArray,
    entropy: Entropy,
    recorded: Record | None,
) -> Answer:
    return Answer(
        gedp=__version__,
        created=released_at(),
        release=recorded.release if recorded else None,
        entropy=entropy.kind,
        query=query.name,
        attributes={name: str(attribute.protection) for name, attribute in attributes.items()},
        mu=query.mu,
        sensitivity=query.sensitivity,
        largest=query.largest,
        std_error=grid.variance**0.5,
        labels=query.labels or tuple(str(i) for i in range(1, len(noisy) + 1)),
        values=tuple(noisy.tolist()),
        together=recorded.together if recorded else None,
    )
