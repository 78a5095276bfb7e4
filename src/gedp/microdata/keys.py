"""Keys of tables: columns as codes with their texts, first characters, unknown codes, and what cells keys allow."""

from collections.abc import Iterable, Sequence
from string import digits

import duckdb
import pyarrow as pa

from gedp.arrays import CodeArray, label_codes
from gedp.errors import Fault, FaultsError
from gedp.microdata.combining import MOST_JOINED_CELLS
from gedp.policy import Spec
from gedp.release import ProtectedAnswers
from gedp.sql import quoted_name

TOTAL_KEY = "cell"  # the only column of the one group that everything is in
MOST_NAMED = 5  # codes in a message
MOST_DIGITS = 3  # of the number of first characters


def encoded(column: pa.ChunkedArray) -> tuple[CodeArray, list[str]]:
    """A column as codes of the rows, and the text of each code, sorted."""
    found = column.unify_dictionaries().combine_chunks().dictionary_encode()
    labels, of_text = label_codes(_texts(found.dictionary))
    return of_text[found.indices.to_numpy()], labels


def _texts(values: pa.Array) -> list[str]:
    """The same texts as where the groups were made, which is in DuckDB; what is text already stays as it is."""
    if pa.types.is_string(values.type):
        texts: list[str] = values.to_pylist()
        return texts
    with duckdb.connect() as connection:
        connection.register("codes", pa.table({"value": values}))
        return [row[0] for row in connection.execute("SELECT value::VARCHAR FROM codes").fetchall()]


def first_characters(name: str) -> tuple[str, int]:
    """The column and the number in a name such as `naics3`; 0 where it ends in no number that a length can be.

    >>> first_characters("naics3"), first_characters("naics03"), first_characters("naics")
    (('naics', 3), ('naics', 0), ('naics', 0))
    """
    column = name.rstrip(digits)
    number = name[len(column) :]
    return column, int(number) if 0 < len(number) <= MOST_DIGITS and number[0] != "0" else 0


def unknown_codes(name: str, codes: Iterable[str], texts: Sequence[str]) -> list[Fault]:
    """The codes of a filter that a key does not have."""
    unknown = sorted(set(codes) - set(texts))
    return [Fault("where", f"there is no {code!r} in {name}", _some(texts)) for code in unknown]


def _some(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:MOST_NAMED])
    return f"There are: {shown}" if len(texts) <= MOST_NAMED else f"There are {len(texts):,}, such as {shown}"


def possible_cells(source: ProtectedAnswers, spec: Spec) -> pa.Table:
    """The natural join of the keys of all queries: every cell that no table rules out."""
    with duckdb.connect() as connection:
        joined, known = "(SELECT 0 AS one)", set[str]()
        for place, query in enumerate(sorted(spec.group_sums, key=lambda query: -len(query.by))):
            if not query.by:
                continue
            connection.register(f"keys{place}", source.answers(query.name).select(list(query.by)))
            columns = ", ".join(map(quoted_name, query.by))
            shared = ", ".join(quoted_name(key) for key in query.by if key in known)
            how = f"JOIN keys USING ({shared})" if shared else "CROSS JOIN keys"
            joined = f"(WITH keys AS (SELECT DISTINCT {columns} FROM keys{place}) SELECT * FROM {joined} {how})"
            known.update(query.by)
        ((count,),) = connection.execute(f"SELECT count(*) FROM {joined}").fetchall()
        if count > MOST_JOINED_CELLS:
            fault = Fault("queries", f"their groups allow {count:,} cells, too many to list", "Add an identity query")
            raise FaultsError(source.name, [fault])
        order = ", ".join(map(quoted_name, sorted(known)))
        rows = f"SELECT * EXCLUDE (one) FROM {joined} ORDER BY {order}" if known else f"SELECT 0 AS {TOTAL_KEY}"
        cells: pa.Table = connection.sql(rows).to_arrow_table()
        return cells
