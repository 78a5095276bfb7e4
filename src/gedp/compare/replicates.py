"""Many rehearsals of the same release, each compared with the truth: errors of every group, replicate by replicate.

A replicate is one file, written when it is whole, so an interrupted run goes on where it stopped. Replicates run in
processes of their own, with noise of their own; what they draw is deleted as soon as it is compared.
"""

import hashlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import ndtri

from gedp._version import __version__
from gedp.accounting.composition import exact
from gedp.compare.sweeps import Setting
from gedp.compare.workflows import ORACLE, Workflow, spec_for
from gedp.engines.local import LocalEngine
from gedp.errors import GedpError, Refused
from gedp.evaluate.folder import private_file
from gedp.evaluate.levels import Level
from gedp.evaluate.truth import Truth, read_truth
from gedp.measure import rehearse
from gedp.microdata.cells import AttributeProblem, Frame, read_frame
from gedp.microdata.solve import sum_by
from gedp.microdata.variances import group_variances
from gedp.microdata.weights import AttributeFit, fit_at, fit_attribute
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Spec, write_spec
from gedp.release import Release
from gedp.table import ConfidentialTable, open_table

REPLICATES, GROUPS = "replicates", "groups.parquet"
WORKERS = 2
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """What every replicate does."""

    settings: tuple[Setting, ...]
    workflows: tuple[Workflow, ...]
    levels: tuple[Level, ...]
    attributes: tuple[str, ...]
    source: Path
    base: Path  # of the map files that the spec names
    confidence: float
    seed: int | None = None

    @property
    def fingerprint(self) -> str:
        """Of everything that shapes the results, the table among it."""
        stat = self.source.stat()
        parts = [
            __version__,
            *(part for setting in self.settings for part in (setting.name, write_spec(setting.spec))),
            *(workflow.name for workflow in self.workflows),
            *(repr(level) for level in self.levels),
            *self.attributes,
            str((self.source.resolve(), stat.st_size, stat.st_mtime_ns, self.confidence, self.seed)),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Rehearsals:
    """A table and its truth, ready to be rehearsed again and again."""

    def __init__(self, plan: Plan, scratch: Path) -> None:
        self.plan = plan
        self.scratch = scratch
        spec = plan.settings[0].spec
        self.table: ConfidentialTable = open_table(
            LocalEngine(plan.source), spec.data, spec.policy.attributes, spec.groupers, plan.base
        )
        self._frame: Frame | None = None
        self._truth: Truth | None = None

    def replicate(self, number: int) -> pa.Table:
        """The errors of all groups: setting, workflow, attribute, level, group, error, whether the interval covered."""
        parts: list[pa.Table] = []
        for setting in self.plan.settings:
            for mechanism in dict.fromkeys(workflow.mechanism for workflow in self.plan.workflows):
                with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
                    parts += self._mechanism(setting, mechanism, number, Path(folder) / "rehearsal")
        return pa.concat_tables(parts)

    def groups(self) -> pa.Table:
        """The groups of every level with their keys and true values; known once a replicate ran."""
        frame, truth = self._known()
        parts = []
        for level in self.plan.levels:
            cells = frame.cells(level.by)
            labels = [np.array(frame.key(key)[1], dtype=object)[cells.codes[key]] for key in level.by]
            texts = [" / ".join(keys) for keys in zip(*labels, strict=True)] or ["total"]
            for attribute in self.plan.attributes:
                columns = {
                    "level": pa.array([level.name] * cells.count),
                    "attribute": pa.array([attribute] * cells.count),
                    "group": pa.array(range(cells.count), pa.int32()),
                    "keys": pa.array(texts),
                    "truth": pa.array(truth.sums(attribute, cells)),
                }
                parts.append(pa.table(columns))
        return pa.concat_tables(parts)

    def _known(self) -> tuple[Frame, Truth]:
        if self._frame is None or self._truth is None:
            raise GedpError("no replicate has run yet")
        return self._frame, self._truth

    def _mechanism(self, setting: Setting, mechanism: str, number: int, folder: Path) -> Iterator[pa.Table]:
        spec = spec_for(setting.spec, mechanism, self._largest(mechanism))
        started = time.perf_counter()
        entropy = None if self.plan.seed is None else SeededEntropy(self.plan.seed * 1_000_003 + number)
        release = rehearse(self.table, spec.policy, spec.queries, out=folder, entropy=entropy)
        frame = self._framed(release, spec)
        drawn = time.perf_counter() - started
        for workflow in self.plan.workflows:
            if workflow.mechanism != mechanism:
                continue
            for attribute in self.plan.attributes:
                started = time.perf_counter()
                fit = self._fit(frame.problem(attribute), workflow)
                seconds = drawn / len(self.plan.attributes) + time.perf_counter() - started
                for level in self.plan.levels:
                    yield self._compared(frame, fit, setting, workflow, attribute, level, seconds)

    def _framed(self, release: Release, spec: Spec) -> Frame:
        """The rows are the same in every rehearsal, so their keys are found once."""
        if self._frame is None:
            self._frame = read_frame(release)
            self._truth = read_truth(self._frame, self.plan.source, self.plan.attributes)
        return replace(self._frame, release=release, spec=spec)

    def _fit(self, problem: AttributeProblem, workflow: Workflow) -> AttributeFit:
        if workflow.weights != ORACLE:
            return fit_attribute(problem, workflow.weights)
        _, truth = self._known()
        return fit_at(problem, truth.values(problem.name))

    def _compared(
        self,
        frame: Frame,
        fit: AttributeFit,
        setting: Setting,
        workflow: Workflow,
        attribute: str,
        level: Level,
        seconds: float,
    ) -> pa.Table:
        _, truth = self._known()
        groups = frame.cells(level.by)
        error = sum_by(groups.of_row, fit.values, groups.count) - truth.sums(attribute, groups)
        variance = group_variances(fit, frame.cells_of(attribute), groups)
        reach = float(ndtri((1 + self.plan.confidence) / 2)) * np.sqrt(variance)
        covered = pa.array(np.abs(error) <= reach, mask=np.isnan(variance))
        texts = (setting.name, workflow.name, attribute, level.name)
        names = ("setting", "workflow", "attribute", "level")
        return pa.table(
            {
                **{name: pa.array([text] * groups.count) for name, text in zip(names, texts, strict=True)},
                "group": pa.array(range(groups.count), pa.int32()),
                "error": pa.array(error),
                "covered": covered,
                "seconds": pa.array(np.full(groups.count, seconds)),
            }
        )

    def _largest(self, mechanism: str) -> dict[str, Fraction]:
        """The largest establishment for each attribute, which Gaussian DP would have to hide."""
        if mechanism != "gdp":
            return {}
        units = {name: exact(attribute.unit) for name, attribute in self.table.attributes.items()}
        largest = dict.fromkeys(units, 0)
        for batch in self.table.engine.scan(coded=[], amounts=units, plain=[]):
            for name, amounts in batch.amounts.items():
                largest[name] = max(largest[name], int(np.abs(amounts).max(initial=0)))
        return {name: most * units[name] for name, most in largest.items()}


def run_replicates(plan: Plan, count: int, folder: Path, progress: Progress | None = None) -> list[Path]:
    """The files of so many replicates in a closed folder; those that are there already are kept.

    A folder of other settings is refused, since its replicates do not compare with these.
    """
    for part in (folder, folder / REPLICATES):
        part.mkdir(mode=0o700, exist_ok=True)
    _require_same(plan, folder / "plan.json")
    paths = [folder / REPLICATES / f"{number:04d}.parquet" for number in range(count)]
    missing = [number for number, path in enumerate(paths) if not path.exists()]
    report = progress or (lambda *_: None)
    report(count - len(missing), count)
    with (
        _one_thread_each(),
        tempfile.TemporaryDirectory(dir=folder, prefix=".scratch-") as scratch,
        ProcessPoolExecutor(
            min(WORKERS, max(len(missing), 1)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(plan, Path(scratch)),
        ) as pool,
    ):
        running = [pool.submit(_replicate, number, paths[number], folder / GROUPS) for number in missing]
        try:
            for done, future in enumerate(as_completed(running), count - len(missing) + 1):
                future.result()
                report(done, count)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return paths


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that are started here do linear algebra on one thread, as there is one process a core."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _require_same(plan: Plan, path: Path) -> None:
    """Notes what the replicates in a folder are of, or checks that they are of the same."""
    if path.exists():
        if path.read_text(encoding="utf-8") != plan.fingerprint:
            raise Refused(f"{path.parent} has replicates of another table, spec or choice. Name another folder")
        return
    with private_file(path) as file:
        file.write(plan.fingerprint.encode())


_rehearsals: Rehearsals | None = None  # of a worker, which opens its table once


def _begin(plan: Plan, scratch: Path) -> None:
    global _rehearsals
    _rehearsals = Rehearsals(plan, scratch)


def _replicate(number: int, path: Path, groups: Path) -> None:
    if _rehearsals is None:
        raise GedpError("the worker has no table")
    table = _rehearsals.replicate(number)
    if not groups.exists():
        with private_file(groups) as file:
            pq.write_table(_rehearsals.groups(), file)
    with private_file(path) as file:
        pq.write_table(table, file, compression="zstd")
