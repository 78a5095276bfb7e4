"""Rows of establishments, for the packages that are to have them: fitted values, with ids, without, or with others.

Rows lie in the order of their ids in a release. Where ids are left out or replaced, that order would bring them back,
so rows are sorted by what they hold.
"""

import secrets

import pyarrow as pa

from gedp.microdata import Microdata

IDS = ("keep", "none", "random")


def rows_of(microdata: Microdata, ids: str) -> pa.Table:
    """The fitted rows: with their ids, with none, or with random ones, which differ every time."""
    table, own = microdata.table(), microdata.public_rows.spec.data.id
    if ids == "keep" or own is None:
        return table
    columns = [name for name in table.column_names if name != own]
    table = table.select(columns).sort_by([(name, "ascending") for name in columns])
    if ids == "none":
        return table
    made = [secrets.token_hex(8) for _ in range(table.num_rows)]
    return pa.table({own: made, **{name: table[name] for name in columns}})
