"""Faults that would break the promise, put into the program one at a time: coupling has to find each of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any
from unittest.mock import patch

import numpy as np

from gedp.arrays import max_by, sum_by
from gedp.confidential import addends, answering, asking, individual
from gedp.confidential.drawings import FirstOfUnits, IdentityAnswers
from gedp.confidential.engines import Drawn
from gedp.confidential.individual import IndividualJob
from gedp.confidential.individual_rows import PlannedRows, PlannedUnits
from gedp.confidential.tally import CellTally
from gedp.individual import charges
from gedp.individual.bounds import For
from gedp.individual.classes import squared_reach_of_counts
from gedp.individual.units import _UnitGroups
from gedp.ledger.judging import Request
from gedp.noise import gaussian
from gedp.noise.grid import Grid, to_steps
from gedp.noise.sums import SumGrid
from gedp.noise.varied import VariedGrid
from gedp.policy import PriceList
from tests.attacks.coupling.couple import in_a_folder
from tests.attacks.coupling.door import CouplingError
from tests.attacks.coupling.own import Own
from tests.attacks.coupling.worlds import World, make_world

TOO_SMALL = 0.99
MOST_TRIED = 60
STRIDE = 7  # so that worlds one after the other have little in common


@dataclass(frozen=True)
class Planted:
    """A fault, and in which worlds it can show."""

    plant: Callable[[], AbstractContextManager[Any]]
    words: tuple[str, ...] = ()  #: in the names of these worlds


def _noise_of_psi() -> AbstractContextManager[Any]:
    return patch.object(Grid, "scale", property(lambda grid: TOO_SMALL * grid.sigma / grid.step))


def _noise_of_sums() -> AbstractContextManager[Any]:
    def noisy(grid: SumGrid, sums: Any, entropy: Any) -> Any:
        return gaussian.with_noise(grid.to_steps(sums), TOO_SMALL * grid.sigma / grid.step, entropy) * grid.step

    return patch.object(SumGrid, "noisy", noisy)


def _noise_of_second_answers() -> AbstractContextManager[Any]:
    def noisy(grid: VariedGrid, values: Any, sigma: Any, entropy: Any) -> Any:
        steps = to_steps(values, grid.step, grid.largest)
        return gaussian.with_noise(steps, TOO_SMALL * sigma / grid.step, entropy) * grid.step

    return patch.object(VariedGrid, "noisy", noisy)


def _attribute_forgotten() -> AbstractContextManager[Any]:
    """The ledger is told of one attribute, though all of them move."""
    of = Request.of

    def of_one(spec: Any, **options: Any) -> Request:
        request = of(spec, **options)
        lines = request.prices.lines
        kept = tuple(line for line in lines if line.attribute == lines[0].attribute)
        return replace(request, prices=PriceList(kept, request.prices.budget))

    return patch.object(Request, "of", of_one)


def _bound_from_the_truth() -> AbstractContextManager[Any]:
    def upper(identity: Any, tally: Any, groups: Any, *_: Any) -> Any:
        return max_by(groups.of_cell, tally.largest.astype(np.float64), groups.count) * identity.unit

    return patch("gedp.confidential.priced.upper_bounds", upper)


@contextmanager
def _order_by_value() -> Iterator[None]:
    """Rows with the same public columns are ordered by their values instead of by random words."""
    answers = IdentityAnswers.__call__

    def ordered(drawing: IdentityAnswers, batch: Any, entropy: Any) -> Drawn:
        drawn = answers(drawing, batch, entropy)
        values = next(iter(batch.amounts.values())).astype(np.uint64)
        return Drawn(drawn.table, [values for _ in drawn.ties])

    with patch.object(IdentityAnswers, "__call__", ordered):
        yield


@contextmanager
def _byte_in_the_manifest() -> Iterator[None]:
    """Of the chance of clipping, the last digit follows a sum."""
    made, seen = answering._manifest, list[int]()
    tallied = CellTally.of

    def of(name: str, rows: Any, drawn: Any) -> Any:
        tally = tallied(name, rows, drawn)
        seen.append(int(tally.sums.sum()))
        return tally

    def manifest(*arguments: Any, **options: Any) -> Any:
        written = made(*arguments, **options)
        return replace(written, zeta=None if written.zeta is None else written.zeta + Fraction(seen[-1] % 10, 10**20))

    with patch.object(CellTally, "of", of), patch.object(answering, "_manifest", manifest):
        yield


@contextmanager
def _largest_share_of_true_values() -> Iterator[None]:
    """What the manifest says of the largest bill is a little less where sums are odd."""
    seen = list[int]()
    same, share = IndividualJob.require_same, charges.largest_share

    def remember(job: IndividualJob, found: Any) -> None:
        seen.append(sum(int(found.added[name].sum()) for name in job.spec.asked))
        same(job, found)

    def following(*arguments: Any) -> float:
        return share(*arguments) * (1 - (seen[-1] % 97) * 1e-6)

    with patch.object(IndividualJob, "require_same", remember), patch.object(individual, "largest_share", following):
        yield


@contextmanager
def _root_of_two_forgotten() -> Iterator[None]:
    """Who changes class is charged for leaving one, and not for entering another."""
    reach = squared_reach_of_counts

    def half(*arguments: Any) -> Any:
        return reach(*arguments) / 2

    with patch.object(addends, "squared_reach_of_counts", half):
        yield


@contextmanager
def _sensitivity_of_close_records() -> Iterator[None]:
    """What no whole value inside an interval can move is stated to be all but certain, and nobody tries it."""
    stated = Own.stated

    def close(own: Own) -> dict[str, Any]:
        return {**stated(own), "sensitivity": 1e-3}

    with patch.object(Own, "stated", close), patch.object(asking, "_contradictions", lambda *_: iter(())):
        yield


@contextmanager
def _second_answer_unpaid() -> Iterator[None]:
    """Second answers take the whole pool, as if tables had cost nothing, and are left out of the bills."""

    def sigma(plan: PlannedRows, cells: Any, omega: Any) -> Any:
        return plan.varied.sigma(np.full(len(omega), plan.first.terms.pool))

    def bills(plan: PlannedRows, cells: Any, omega: Any) -> Any:
        return plan.drawn.paid(cells, plan.bounds(cells, omega, For.CHARGING).sensitivity)

    with patch.object(PlannedRows, "second_sigma", sigma), patch.object(PlannedRows, "charges", bills):
        yield


def _records_of_a_firm_one_by_one() -> AbstractContextManager[Any]:
    """A firm pays for the squares of what its records move, and not for the square of their sum."""

    def total(groups: Any, values: Any) -> Any:
        return np.sqrt(sum_by(groups.of_part, values**2, len(groups.unit)))

    return patch.object(_UnitGroups, "total", total)


def _first_answers_of_a_firm_at_full_price() -> AbstractContextManager[Any]:
    """Every record of a firm has a first answer as precise as that of a record by itself."""
    original = FirstOfUnits.__init__

    def made(of_units: Any, cells: Any, noise: Any, varied: Any) -> None:
        original(of_units, cells, np.ones_like(noise), varied)

    return patch.object(FirstOfUnits, "__init__", made)


def _second_answers_of_a_firm_at_full_price() -> AbstractContextManager[Any]:
    """Every record of a firm takes all that the firm has left."""
    return patch.object(PlannedUnits, "share", lambda _, cells, __: np.ones(len(cells)))


def found_in(fault: Planted, most: int = MOST_TRIED) -> tuple[World, CouplingError] | None:
    """The first world in which a planted fault shows, and how; None if it shows in none of those that are tried."""
    tried = 0
    for number in count():
        world = make_world(number * STRIDE)
        if not all(word in world.name for word in fault.words):
            continue
        tried += 1
        try:
            with fault.plant():
                in_a_folder(world)
        except CouplingError as error:
            return world, error
        if tried == most:
            return None
    raise AssertionError


def where_found(name: str) -> str:
    """The world in which the fault of this name shows, and how; empty if it is in none."""
    found = found_in(PLANTED[name])
    return "" if found is None else f"world {found[0].name}: {found[1]}"


PLANTED: Mapping[str, Planted] = {
    "noise of ψ 1% too small": Planted(_noise_of_psi, ("sums", "prices", "worst")),
    "noise of sums 1% too small": Planted(_noise_of_sums, ("sums", "prices", "worst")),
    "noise of second answers 1% too small": Planted(_noise_of_second_answers, ("sums", "individual", "worst")),
    "one attribute forgotten": Planted(_attribute_forgotten, ("worst",)),
    "a bound taken from the truth": Planted(_bound_from_the_truth, ("sums", "prices")),
    "rows ordered by values": Planted(_order_by_value, ("prices", "no ids")),
    "a byte of the manifest that follows a value": Planted(_byte_in_the_manifest, ("prices",)),
    "largest_share from true values": Planted(_largest_share_of_true_values, ("individual",)),
    "√2 forgotten in classes": Planted(_root_of_two_forgotten, ("classes", "worst")),
    "noise of a query of one's own 1% too small": Planted(_noise_of_psi, ("asked", "worst")),
    "a sensitivity of close records alone": Planted(_sensitivity_of_close_records, ("asked", "1 unit", "worst")),
    "a second answer unpaid": Planted(_second_answer_unpaid, ("individual", "worst")),
    "records of a firm charged one by one": Planted(_records_of_a_firm_one_by_one, ("a firm of 40", "worst")),
    "first answers of a firm at full price": Planted(_first_answers_of_a_firm_at_full_price, ("a firm of",)),
    "second answers of a firm at full price": Planted(_second_answers_of_a_firm_at_full_price, ("a firm of", "worst")),
}
