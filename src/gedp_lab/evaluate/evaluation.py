"""A release beside the truth: every level, every attribute."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gedp.confidential.engines import ArrowStream
from gedp.confidential.sealing import sealed
from gedp.microdata import fit_microdata
from gedp.microdata.cells import read_public_rows
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.on_file import find_microdata, is_on_file, read_microdata
from gedp.progress import Progress, silent
from gedp.release import ReleaseFolder
from gedp_lab.evaluate.baseline import Baseline
from gedp_lab.evaluate.document import evaluation_page
from gedp_lab.evaluate.folder import Results, results_folder
from gedp_lab.evaluate.groups import ComparedGroups, compare_answers, compare_microdata
from gedp_lab.evaluate.levels import (
    attributes_behind,
    chosen_figures,
    chosen_levels,
    default_levels,
    figures_at,
    nothing_determined,
)
from gedp_lab.evaluate.results import EvaluationResults
from gedp_lab.evaluate.sharpened import compare_sharpened
from gedp_lab.evaluate.truth import read_truth

COMMAND = "evaluate"
PAGE = "evaluation.html"


@dataclass(frozen=True, repr=False)
class Evaluation(EvaluationResults):
    """How far a release is from the truth. Confidential, unless the release is of synthetic data."""

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Writes everything into a folder of its own, closed to others; returns the page."""
        folder = Path(folder)
        with results_folder(folder, self.stamp, COMMAND, force=force) as results:
            self.write_into(results)
        return folder / f"{self.stamp.prefix}{PAGE}"

    @sealed
    def write_into(self, results: Results) -> None:
        """Writes tables and the page into a folder that is being filled."""
        constraints = self.constraints.described()
        results.about.update(release=self.release.name, weights=self.weights, constraints=constraints)
        beside = {baseline.name: table for baseline, table in self.beside}
        for name, table in {"errors": self.errors(), "worst": self.worst(), **beside}.items():
            results.write_parquet(f"{name}.parquet", table)
            results.write_csv(f"{name}.csv", table)
        results.write_parquet("groups.parquet", self.groups())
        results.write_text(PAGE, evaluation_page(self))


@sealed
def evaluate(
    release: ReleaseFolder,
    truth: str | Path | ArrowStream,
    *,
    by: Sequence[Sequence[str]] | None = None,
    attributes: Sequence[str] | None = None,
    weights: str | None = None,
    fixed: Sequence[Given] = (),
    baselines: Sequence[Baseline] = (),
    earlier: Sequence[ReleaseFolder] = (),
    within: Sequence[str] = (),
    progress: Progress | None = None,
) -> Evaluation:
    """Compares the microdata and the answers of a release with the table that it was made from.

    `by` are groupings to evaluate, each a sequence of keys; by default the levels of the QCEW and what was measured.
    The microdata are those on file in the release, with the public totals `fixed` that they were fitted to, if any;
    where there are none, or other `weights` are asked for, they are fitted. `baselines` are other ways to protect the
    same cells, to be set beside. With `earlier` releases, the newest first, tables that lean on them by a model are set
    beside too; `within` is as in `gedp.sharpen`.
    """
    at = progress or silent
    at("reading the truth", 0, 0)
    public_rows = read_public_rows(release)
    spec = public_rows.spec
    chosen = chosen_figures(spec, attributes, release.name)
    names = attributes_behind(spec, chosen)
    levels = default_levels(public_rows) if by is None else chosen_levels(public_rows, by)
    found = read_truth(public_rows, truth, attributes_behind(spec, chosen, levels))
    at("fitting", 0, 0)
    if is_on_file(release) and weights is None:
        microdata = read_microdata(release, fixed, names)
    else:
        microdata = fit_microdata(release, weights=weights, attributes=names, fixed=fixed)
    before = [find_microdata(each, attributes=names) for each in earlier]
    comparisons: list[ComparedGroups] = []
    for done, level in enumerate(levels):
        at("comparing", done, len(levels))
        figures = figures_at(microdata, level, chosen)
        comparisons += compare_microdata(microdata, found, level, figures)
        if before:
            comparisons += compare_sharpened(microdata, before, found, level, names, within)
        comparisons += compare_answers(public_rows, found, level, figures)
    if not comparisons:
        raise nothing_determined(release.name, chosen, levels)
    beside = tuple((baseline, baseline.beside(microdata.public_rows, comparisons)) for baseline in baselines)
    confidence = float(spec.output.confidence)
    return Evaluation(
        release, microdata.weights, microdata.constraints, confidence, tuple(levels), tuple(comparisons), beside
    )
