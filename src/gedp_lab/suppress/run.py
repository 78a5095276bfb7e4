"""Suppression of the tables of a spec, from the confidential table to a closed folder."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute

from gedp.confidential.sealing import sealed
from gedp.errors import DomainError
from gedp.microdata.cells import Cells, PublicRows
from gedp.policy import Spec
from gedp.progress import Progress, silent
from gedp_lab.compare.plan import ComparisonPlan, make_plan
from gedp_lab.compare.rehearsals import prepare_replicates
from gedp_lab.compare.workflows import sums_alone
from gedp_lab.evaluate.folder import Stamp, results_folder
from gedp_lab.evaluate.levels import Level
from gedp_lab.suppress.rules import parse_rule
from gedp_lab.suppress.study import StudyOptions, SuppressionStudy, study_suppression

COMMAND = "suppress"


@sealed
def run_suppression(
    spec: Spec,
    truth: str,
    *,
    out: Path,
    options: StudyOptions | None = None,
    attributes: Sequence[str] | None = None,
    by: Sequence[Sequence[str]] | None = None,
    maps: Path = Path(),
    force: bool = False,
    progress: Progress = silent,
) -> tuple[list[SuppressionStudy], Stamp]:
    """Suppresses each attribute of the tables, audits what is left, and writes all that to the folder `out`."""
    options = options or StudyOptions()
    parse_rule(options.rule)
    plan = make_plan(sums_alone(spec), truth, folder=maps, workflows=["psi"], attributes=attributes, by=by)
    _require_amounts(plan)
    with results_folder(out, plan.stamp, COMMAND, force=force) as results:
        prepared = prepare_replicates(plan, plan.open_table())
        studies = [
            study_suppression(
                prepared.public_rows, prepared.levels, prepared.truth, name, results.staging, options, progress
            )
            for name in plan.attributes
        ]
        labels = pa.concat_arrays([_keys(prepared.public_rows, level, cells) for level, cells in prepared.cells()])
        cells = pa.concat_tables([study.cells(labels) for study in studies], promote_options="permissive")
        outcomes = pa.Table.from_pylist([asdict(each) for study in studies for each in study.outcomes()])
        results.write_parquet("cells.parquet", cells)
        results.write_parquet("outcomes.parquet", outcomes)
        results.write_csv("outcomes.csv", outcomes)
        results.about.update(rule=options.rule, attributes=list(plan.attributes))
    return studies, plan.stamp


def _keys(public_rows: PublicRows, level: Level, cells: Cells) -> pa.Array:
    """The keys of every cell of a level with commas between them."""
    texts = [public_rows.texts(key, cells) for key in level.by]
    return pa.compute.binary_join_element_wise(*texts, ",") if texts else pa.repeat("", cells.count)


def _require_amounts(plan: ComparisonPlan) -> None:
    """Rejects attributes that may be negative, all at once: an attacker is taken to know that nothing is."""
    attributes = plan.spec.policy.attributes
    signed = [name for name in plan.attributes if attributes[name].signed]
    if signed:
        raise DomainError(
            f"suppression takes values of 0 or more, and {', '.join(signed)} may be negative. Name others with "
            "--attribute, or set split = true: gain and loss are never negative"
        )
