"""Tables as Parquet files that say what they are: titles, units and notes in the metadata of file and columns.

The file's metadata have a key for each text, and `PANDAS_ATTRS`, which pandas shows as `DataFrame.attrs`.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.publication.about import MEANINGS, About
from gedp.publication.figures import TableOfFigures

FOR_PANDAS = "PANDAS_ATTRS"


def write_parquet(about: About, table: TableOfFigures, path: Path) -> None:
    """Writes one table with its metadata."""
    said = metadata(about, table)
    texts = [field.name for field in table.arrow.schema if field.type == pa.string()]
    fields = [field.with_metadata(_of_column(about, table, field.name)) for field in table.arrow.schema]
    schema = pa.schema(fields, metadata={**said, FOR_PANDAS: json.dumps(said, ensure_ascii=False)})
    pq.write_table(table.arrow.cast(schema), path, compression="zstd", use_dictionary=texts)


def metadata(about: About, table: TableOfFigures) -> dict[str, str]:
    """What a table is, by key; every value a text."""
    labels, publication = about.labels, about.labels.spec.publication
    units = {name: unit for name in table.chosen.lines if (unit := labels.unit(name)) is not None}
    return {
        "title": f"{about.title}: {table.chosen.title}",
        **{key: text for key, text in publication.given().items() if key != "title"},
        "citation": about.citation(),
        "notes": "\n".join(about.notes()),
        "confidence": f"{about.confidence:g}",
        "attributes": json.dumps({name: labels.title(name) for name in table.chosen.lines}, ensure_ascii=False),
        "units": json.dumps(units, ensure_ascii=False),
    }


def _of_column(about: About, table: TableOfFigures, name: str) -> dict[str, str]:
    key = next((key for key, column in table.names.items() if column == name), None)
    if name in table.chosen.by:
        return {"title": about.labels.title(name)}
    return {"title": f"{about.labels.title(key)}, name"} if key else {"description": MEANINGS[name]}
