"""The public columns of a table, and nothing else of it: what a plan may know of a confidential table."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gedp.arrays import CodeArray, label_codes
from gedp.confidential.engines import ArrowStream, Engine, in_order
from gedp.confidential.engines.choice import engine_of
from gedp.confidential.sealing import sealed
from gedp.confidential.table import open_table
from gedp.passes import Reads
from gedp.planning.establishments import Keys
from gedp.policy import Spec


@sealed
def read_keys(spec: Spec, source: Path | ArrowStream | None = None) -> Keys:
    """The public columns and groupings of the table of a spec, or of another; no confidential column is read."""
    return keys_of(spec, engine_of(spec, source, columns=spec.data.public))


def keys_of(spec: Spec, engine: Engine) -> Keys:
    """The same of an open engine. Without attributes, opening checks and reads public columns alone."""
    table = open_table(engine, replace(spec.data, id=None), {}, spec.groupers, spec.folder, spec.hierarchies)
    public = [*dict.fromkeys(spec.data.public), *spec.data.reading.joined]
    labels = {name: engine.distinct(name) for name in public}
    parts: dict[str, list[CodeArray]] = {name: [] for name in public}
    rows = 0
    for batch in in_order(engine).batches(Reads(coded=public)):
        rows += batch.rows
        for name in public:
            parts[name].append(batch.codes[name])
    columns = {name: (np.concatenate(parts[name]), labels[name]) for name in public}
    for name, (column, groups) in table.lookups.items():
        codes, texts = columns[column]
        names, of_text = label_codes([groups[text] for text in texts])
        columns[name] = (of_text[codes], names)
    return Keys(rows, columns)
