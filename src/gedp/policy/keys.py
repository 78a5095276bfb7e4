"""Every key of a spec, once: the reader, the writer and the page docs/spec-keys.md follow from these tables.

A key needs a line here, a field of the same name in the class that holds the section, and whatever it is for. Keys are
written in this order. What several keys mean together is checked by the reader of the section.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from gedp.neighbors import BUILT_IN
from gedp.policy import values as v
from gedp.policy.fields import Field, Fields, written
from gedp.policy.nouns import Nouns

PSI_NAMES = tuple(BUILT_IN)
MECHANISMS = ("auto", "psi", "pnc")  # pnc: probably no clipping
WEIGHTS = ("quasi", "plug-in")
DECIMAL_SIGNS = (".", ",")
THOUSANDS = (".", ",", "'", " ", "_", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "’")
#: The terms in which prices and budgets can be given.
WAYS = ("mu", "rho", "epsilon")


def _closenesses(parts: Iterable[object]) -> list[dict[str, Any]]:
    return [written(CLOSENESS, vars(part)) for part in parts]


#: Keys of `[data]` about the table itself, and about how its source is read.
TABLE: Fields = (
    Field("source", v.SOURCE, "The confidential table: files or a [database](sources.md)", '"jobs.csv"'),
    Field("id", v.TEXT, "The column of ids. The identity query [publishes](#data) them", '"unit"', None),
    Field("public", v.NAMES, "The public columns, from which all groupings are made", '["cnty", "naics"]'),
    Field("period", v.PERIOD, "The period of the table in a [series](series.md)", '"2016Q1"', None),
    Field("synthetic", v.FLAG, "Whether the table was made from public figures alone", "true", False),
)
READING: Fields = (
    Field("table", v.PUBLIC_TEXT, "The table of a [database](sources.md)", '"register"', None),
    Field("query", v.PUBLIC_TEXT, "A query to a database, instead of `table`", '"SELECT * FROM jobs"', None),
    Field("sheet", v.PUBLIC_TEXT, "The sheet of a workbook", '"2016"', None),
    Field("encoding", v.ENCODING, "The encoding of a text file; UTF-8 by default", '"latin-1"', None),
    Field("delimiter", v.DELIMITER, "What separates the columns of a text file; found by default", '";"', None),
    Field("thousands", v.choice(THOUSANDS), "What separates thousands in numbers that are texts", '","', None),
    Field("decimal", v.choice(DECIMAL_SIGNS), "The decimal sign of numbers that are texts", '","', "."),
    Field("missing", v.MISSING, "What a [null](sources.md#nulls) counts as; refused by default", "{ wage = 0 }", {}),
)
DATA = TABLE + READING

PROTECT: Fields = (
    Field(
        "unit", v.TEXT, "The public column of [units](units.md): all records of one are hidden at once", '"firm"', None
    ),
)

#: A grouping is derived from one column or grouping, or joins several columns.
DERIVED: Fields = (
    Field("column", v.TEXT, "The public column, or the grouping, that it is derived from", '"naics"'),
    Field("prefix", v.PREFIX, "Codes that agree in so many first characters are one group", "3", None),
    Field("map", v.TEXT, "The [map file](spec.md#map-files) with the group of every code", '"regions.csv"', None),
)
JOINED: Fields = (
    Field("columns", v.NAMES, "Public columns; each combination of codes is a group: `01-003`", '["state", "cnty"]'),
)
HIERARCHIES: Fields = (
    Field("name", v.NAMES, "Groupings and public columns that nest, from coarse to fine", '["nuts2", "nuts3"]'),
)

CLOSENESS: Fields = (
    Field("psi", v.choice(PSI_NAMES), "The function ψ: values up to `gamma` apart in ψ count as close", '"sqrt"'),
    Field("gamma", v.EXACT, "How far apart close values can be in ψ", "0.5"),
    Field("shift", v.EXACT_OR_0, "Added to every value before ψ is applied", "1", Decimal(0)),
)
#: One table of these keys, or several.
WIDENING = v.Shape("table of `psi`, `gamma` and `shift`, or a list of such tables", v.sections, _closenesses)
#: Keys of `[attributes]` besides those of closeness.
ATTRIBUTE: Fields = (
    Field("unit", v.EXACT, "Values must be whole multiples of it: 0.01 for cents", "0.01", Decimal(1), always=True),
    Field("signed", v.FLAG, "Whether values can be negative", "true", False),
    Field("split", v.FLAG, "Whether to release [gain and loss](spec.md#gain-and-loss) apart", "true", False),
    Field("at_least", WIDENING, "Widens the intervals to contain these too", '{ psi = "linear", gamma = 2 }', ()),
    Field("person", v.NUMBER, "What one person typically contributes", "1", None),
    Field("share", v.NUMBER, "Its part of `spend`, relative to that of other attributes", "2", Decimal(1)),
    Field("typical", v.NUMBER, "What a typical establishment has", "12", None),
    Field("of_period", v.PERIODS, "The [periods](series.md) whose values it holds", "[0, -1]", ()),
)

CLASSES: Fields = (
    Field("attribute", v.TEXT, "The confidential attribute that is divided into classes", '"emp"'),
    Field("edges", v.EDGES, "The least value of every class, in whole multiples of the unit", "[0, 1, 5, 10]"),
)
COMBINATIONS: Fields = (Field("name", v.TEXT, "A sum of attributes with coefficients", '"revenue - cost"'),)

#: The budget in one of several terms, and amounts in the same terms, which are fields of `Policy`.
TERMS: Fields = (
    Field("mu", v.NUMBER, "The most that all releases from the table may cost together", "1.4", None),
    Field("rho", v.NUMBER, "The same in [ρ of zCDP](spec.md#prices-in-other-terms), instead of `mu`", "1.2", None),
    Field("epsilon", v.NUMBER, "The same in (ε, δ), instead of `mu`", "0.5", None),
    Field("delta", v.DELTA, "The δ that belongs to `epsilon`", "1e-9", None),
)
SPENDING: Fields = (
    Field("spend", v.NUMBER, "What a release without prices costs; the budget by default", "0.6", None),
    Field("year", v.NUMBER, "The most that all periods of any year may cost together", "2", None),
    Field("series", v.NUMBER, "The most that all periods of a [series](series.md) may cost together", "5", None),
)
BUDGET = TERMS + SPENDING

#: What every query has, whatever it asks for.
CALLED: Fields = (
    Field("name", v.FILE_NAME, "The name of the query, and of the file with its answers", '"county"'),
    Field("title", v.TITLE, "What people call its table", '"Jobs by county"', None),
    Field("by", v.BY, "Public columns, groupings and [classes](classes.md); `[]` for the total", '["cnty"]'),
)
QUERY: Fields = (
    *CALLED,
    Field("count", v.FLAG, "Whether to count establishments, in a query by classes", "true", False),
    Field("mu", v.AMOUNTS, "The price for every attribute, or for those that it names", "{ emp = 0.7 }", None),
    Field("rho", v.AMOUNTS, "The same in [ρ of zCDP](spec.md#prices-in-other-terms), instead of `mu`", "0.245", None),
    Field("epsilon", v.AMOUNTS, "The same in (ε, δ), instead of `mu`", "0.5", None),
    Field("delta", v.DELTA, "The δ that belongs to `epsilon`", "1e-9", None),
    Field("importance", v.AMOUNTS, "Without a price, the weight of its errors; 1 by default", "{ emp = 2 }", None),
    Field("mechanism", v.choice(MECHANISMS), "How sums are protected", '"pnc"', "auto", always=True),
)

CLIPPING: Fields = (Field("zeta", v.FRACTION, "The chance that any value is clipped; 0.01 by default", "0.001", None),)
LEDGER: Fields = (Field("file", v.TEXT, "The [ledger](ledger.md) of the table", '"register.ledger"'),)
MICRODATA: Fields = (
    Field("weights", v.choice(WEIGHTS), "The weights of the fit", '"plug-in"', "quasi", always=True),
    Field("nonnegative", v.FLAG, "Whether values are constrained to 0 or more", "true", False),
    Field("whole", v.FLAG, "Whether values are constrained to whole multiples of the unit", "true", False),
)
#: The constraints on microdata that take no more than their name; each is a field of `MicrodataOptions`.
CONSTRAINTS = tuple(field.key for field in MICRODATA if field.shape is v.FLAG)
OUTPUT: Fields = (
    Field("dir", v.TEXT, "The folder of the release", '"release"', "out", always=True),
    Field("confidence", v.CONFIDENCE, "The confidence of its intervals", "0.9", Decimal("0.95"), always=True),
)
_TITLE = Field("title", v.TITLE, "What people call it", '"Annual wages"', None)
ATTRIBUTE_LABEL: Fields = (
    _TITLE,
    Field("unit", v.TITLE, "The unit of its values", '"US dollars"', None),
    Field("scale", v.SCALE, "Pages show its figures in so many units; files never do", "1000", 1),
)
COLUMN_LABEL: Fields = (
    _TITLE,
    Field("codes", v.TEXT, "The [file](labels.md) with the names of its codes", '"counties.csv"', None),
)
#: Keys of `[labels]` that are no names of the table.
NOUNS: Fields = (
    Field("record", v.NOUN, "What a record is called", '"local unit|local units"', Nouns().record),
    Field("unit", v.NOUN, "What a [unit](units.md) is called", '"enterprise|enterprises"', None),
)
PUBLICATION: Fields = (
    Field("title", v.TITLE, "The title of everything that is published from the release", '"Jobs and wages"', None),
    Field("publisher", v.TITLE, "Who publishes it", '"Statistics Office"', None),
    Field("contact", v.TITLE, "Whom to ask about it", '"jobs@example.org"', None),
    Field("licence", v.TITLE, "The terms under which it can be used", '"CC BY 4.0"', None),
)
