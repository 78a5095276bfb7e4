"""Both worlds released, and compared."""

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import gedp
from gedp.arrays import IntArray
from gedp.errors import GedpError
from gedp.individual import Portions, QueryGroups, Rows, Terms
from gedp.individual.filling import LEAST_FRACTION, most_fraction
from gedp.ledger import Ledger, store
from gedp.planning.opening import candidates
from gedp.policy import Attribute, write_spec
from tests.attacks.coupling.door import CouplingError, Door
from tests.attacks.coupling.worlds import World, make_world
from tests.helpers.passes import DividedEngine
from tests.helpers.runs import gedp as command

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Coupled:
    """What two worlds cost: the exact distance between them, and what the ledger charged, both in μ²."""

    world: World
    squared_distance: Fraction
    charged: Fraction
    draws: int

    @property
    def ratio(self) -> Fraction:
        """The distance as a part of the price; for records k steps apart the price is k² times as high."""
        return self.squared_distance / (self.charged * self.world.steps**2)


def couple(world: World, folder: Path) -> Coupled:
    """Releases both worlds in `folder`; raises `CouplingError` where they can be told apart by more than was paid."""
    door = Door(np.random.default_rng([world.steps, *world.name.encode()]), world.spread, world.drift)
    first, second = _stored(world, world.table), _stored(world, world.moved)
    with door.first_world():
        published, charged = _released(world, first.table, folder / "first")
    with door.second_world(None if world.file is None else np.argsort(first.order)[second.order]):
        same, same_charge = _released(world, second.table, folder / "second")
    if charged != same_charge:
        raise CouplingError("the worlds are charged differently")
    different = sorted(name for name in published.keys() | same.keys() if published.get(name) != same.get(name))
    if different:
        raise CouplingError(f"the worlds differ in {', '.join(different)}")
    found = Coupled(world, door.squared_distance, charged, len(door.added))
    if found.ratio > 1:
        raise CouplingError(f"the distance is {float(found.ratio):.9g} of the price")
    return found


def in_a_folder(world: World) -> Coupled:
    """The same in a folder of its own, which is gone afterwards; ledgers there need not survive a power failure."""
    with tempfile.TemporaryDirectory() as folder, patch.object(store, "SYNCHRONOUS", "OFF"):
        return couple(world, Path(folder))


@dataclass(frozen=True)
class Outcome:
    """What coupling a world gave: the distance as a part of the price, or why the worlds can be told apart."""

    name: str
    ratio: Fraction
    draws: int
    error: str = ""


def outcome(number: int) -> Outcome:
    """The outcome of the world of this number."""
    world = make_world(number)
    try:
        coupled = in_a_folder(world)
    except GedpError as error:
        return Outcome(world.name, Fraction(0), 0, str(error))
    return Outcome(world.name, coupled.ratio, coupled.draws)


@dataclass(frozen=True)
class _Stored:
    """A table as it is stored, and the place of each of its rows in the table of the world."""

    table: pa.Table
    order: IntArray


def _stored(world: World, table: pa.Table) -> _Stored:
    """In memory as it is; in a file by rising values, so that places tell of them."""
    if world.file is None:
        return _Stored(table, np.arange(len(table)))
    order = np.argsort(table["w"].to_numpy().astype(np.float64), kind="stable")
    return _Stored(table.take(order), order)


def _released(world: World, table: pa.Table, folder: Path) -> tuple[dict[str, bytes], Fraction]:
    """Everything that leaves: files of the release, and what the command prints; and what the ledger charged."""
    folder.mkdir(parents=True)
    out, ledger, printed = folder / "out", folder / "ledger", dict[str, bytes]()
    with _same_time(), _engine(world), _planning(world):
        if world.own is not None:
            gedp.ask(world.spec, world.own, table=table, out=out, ledger=ledger, seed=1, **world.own.stated())
        elif world.file is None:
            gedp.run(world.spec, table, out=out, ledger=ledger, seed=1, answers_only=True)
        else:
            (pq.write_table if world.file.endswith("parquet") else pa_csv.write_csv)(table, folder / world.file)
            spec = replace(world.spec, data=replace(world.spec.data, source=world.file))
            (folder / "spec.toml").write_text(write_spec(spec), encoding="utf-8")
            ended = command("run", "spec.toml", "--seed", "1", "--out", "out", "--ledger", "ledger", folder=folder)
            if ended.code:
                raise CouplingError(ended.err)
            printed = {"standard output": ended.out.encode(), "standard error": ended.err.encode()}
    paths = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {**files, **printed}, Ledger.open(ledger, create=False).state().total.mu_squared


@contextmanager
def _same_time() -> Iterator[None]:
    """Times and random names, which releases have, are the same for both."""
    with (
        patch("gedp.confidential.answering.released_at", lambda: NOW),
        patch("gedp.confidential.asking.released_at", lambda: NOW),
        patch("gedp.ledger.ledger.uuid4", lambda: UUID(int=1)),
    ):
        yield


@contextmanager
def _planning(world: World) -> Iterator[None]:
    """Whatever planning chooses must be safe: most worlds choose anything, which saves the search for the best."""
    tau = world.tau
    if tau is None:
        yield
        return

    def any_first(
        attribute: Attribute, pool: Fraction, _: object, partitions: Sequence[QueryGroups], *__: object
    ) -> Decimal:
        return random.Random(f"{world.name} {attribute.name}").choice(candidates(pool, len(partitions)))

    def any_portions(_: Rows, partitions: Sequence[QueryGroups], terms: Terms, *others: Any) -> Portions:
        chance = random.Random(f"{world.name} {terms.first} {terms.pool} {[p.query for p in partitions]}")
        portions, most = next(each for each in others if isinstance(each, Portions)), most_fraction(len(partitions))
        return replace(portions, fractions={p.query: chance.uniform(LEAST_FRACTION, most) for p in partitions})

    with (
        patch("gedp.confidential.pools.choose_first", any_first),
        patch("gedp.planning.choice._search", any_portions),
        patch("gedp.planning.choice.choose_tau", lambda *_: tau),
    ):
        yield


@contextmanager
def _engine(world: World) -> Iterator[None]:
    """The engine of the world in the place of the local one."""
    if world.cuts is None:
        yield
        return

    def divided(table: Any, *_: object) -> DividedEngine:
        assert world.cuts is not None
        return DividedEngine(table, world.cuts, lambda places: places[::-1])

    with patch("gedp.confidential.engines.choice.LocalEngine", Mock(side_effect=divided)):
        yield
