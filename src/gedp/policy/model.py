"""The nouns of a spec: what is protected and how strongly, what is asked, and from which data.

Numbers that shape the guarantee are decimals exactly as written in the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from html import escape
from pathlib import Path

from gedp.accounting.composition import PrivacyLoss, Promise
from gedp.errors import Fault, FaultsError
from gedp.markup import html_table
from gedp.neighbors import BUILT_IN, Protection, Signed, widen
from gedp.periods import Period
from gedp.policy.classes import Classes
from gedp.policy.combinations import Combination
from gedp.policy.labels import Label, Publication
from gedp.policy.measures import Query
from gedp.policy.nouns import AS_USUAL as AS_USUAL_NOUNS
from gedp.policy.nouns import Nouns
from gedp.policy.places import Path as Place
from gedp.policy.reading import AS_WRITTEN, Reading
from gedp.policy.values import DATABASE

#: The identity query where the spec implies one.
IDENTITY = "identity"
#: Columns of the tables that are made of a release, so neither a public column nor a grouping can be called like one.
TABLE_COLUMNS = (
    "attribute",
    "formula",
    "estimate",
    "variance",
    "std_error",
    "cv",
    "ci_low",
    "ci_high",
    "mechanism",
    "variance_kind",
    "noise",
    "cell",
    "one",
)
#: Follows the name of an attribute in the name of the column with its noisy values of psi.
PSI_SUFFIX = "__psi"
#: The same for the second answers of individual accounting, and for the size of their noise.
SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX = "__psi2", "__sigma2"
OWN_SUFFIXES = (PSI_SUFFIX, SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX)
#: Between the codes of columns that are joined.
JOINT = "-"
#: What an attribute is split into: the part of a value above 0 and the part below, with the sign of each.
PARTS = {"gain": 1, "loss": -1}


@dataclass(frozen=True)
class Closeness:
    """ψ by name, its shift, and γ: values are close when |ψ(x) − ψ(y)| ≤ γ."""

    psi: str
    gamma: Decimal
    shift: Decimal = Decimal(0)

    @property
    def protection(self) -> Protection:
        """The same as numbers to compute with."""
        return Protection(BUILT_IN[self.psi](float(self.shift)), float(self.gamma))


@dataclass(frozen=True)
class Attribute:
    """A confidential column: what counts as close, and the unit in which its values are whole numbers."""

    name: str
    closeness: Closeness
    unit: Decimal = Decimal(1)
    signed: bool = False
    at_least: tuple[Closeness, ...] = ()
    person: Decimal | None = None  # what one person typically contributes; for explanations and plans only
    share: Decimal = Decimal(1)  # of what is spent under individual accounting, relative to other attributes
    typical: Decimal | None = None  # what a typical establishment has, as far as the public knows; for plans only
    part: str | None = None  # of PARTS, where a column of both signs is split
    of_period: tuple[int | Period, ...] = ()  # whose values it holds, by name or as 0, -1, … from the table's own

    def periods(self, of_table: Period) -> frozenset[Period]:
        """The periods whose values it holds in the table of a period; that period where it does not say."""
        named = (of_table.moved(each) if isinstance(each, int) else each for each in self.of_period)
        return frozenset(named) or frozenset({of_table})

    @property
    def column(self) -> str:
        """The column of the table that its values come from."""
        return self.name if self.part is None else self.name.removesuffix(f"_{self.part}")

    def split(self) -> "tuple[Attribute, ...]":
        """Gain and loss, two attributes that are never negative, in its place."""
        return tuple(replace(self, name=f"{self.name}_{part}", part=part) for part in PARTS)

    @property
    def protection(self) -> Protection:
        """The protection, widened to contain every interval of `at_least`."""
        widened = reduce(widen, [c.protection for c in self.at_least], self.closeness.protection)
        return Protection(Signed(widened.psi), widened.gamma) if self.signed else widened


@dataclass(frozen=True)
class Policy:
    """What is promised: a protection for each confidential attribute, and the total μ."""

    attributes: Mapping[str, Attribute]
    mu: Decimal
    rho: Decimal | None = None  # where the budget is given so; `mu` is then √(2ρ), rounded down
    spend: Decimal | None = None  # of the budget, in its terms, by individual accounting; all where it is not given
    year: Decimal | None = None  # the most that the periods of any year may cost together, in the terms of the budget
    series: Decimal | None = None  # the same of all periods
    unit: str | None = None  # the public column of units whose records are hidden at once; None: each record by itself

    @property
    def split_columns(self) -> dict[str, dict[str, int]]:
        """Of every column that is split, the attributes whose difference it is, with their signs."""
        found: dict[str, dict[str, int]] = {}
        for name, attribute in self.attributes.items():
            if attribute.part is not None:
                found.setdefault(attribute.column, {})[name] = PARTS[attribute.part]
        return found

    @property
    def budget(self) -> PrivacyLoss:
        """The most that all answers together may cost."""
        return PrivacyLoss.of(self.mu) if self.rho is None else PrivacyLoss.of_rho(self.rho)

    @property
    def spent(self) -> PrivacyLoss:
        """What a release with individual accounting costs every establishment at most."""
        return self.budget if self.spend is None else self._loss(self.spend)

    @property
    def year_budget(self) -> PrivacyLoss | None:
        """The most that the periods of any year may cost together; None where only each period has a budget."""
        return None if self.year is None else self._loss(self.year)

    @property
    def series_budget(self) -> PrivacyLoss | None:
        """The most that all periods may ever cost together; None where that has no limit."""
        return None if self.series is None else self._loss(self.series)

    def _loss(self, stated: Decimal) -> PrivacyLoss:
        """A number in the terms of the budget."""
        return PrivacyLoss.of(stated) if self.rho is None else PrivacyLoss.of_rho(stated)

    @property
    def promise(self) -> Promise:
        """The promise if the whole budget is spent."""
        return Promise({name: a.protection for name, a in self.attributes.items()}, self.budget)


@dataclass(frozen=True)
class Grouper:
    """A public grouping: derived from a public column or another grouping, by first characters or a file's lookup.

    Or it joins several public columns: every combination of their codes is a group.
    """

    name: str
    column: str  # or grouping; of joined columns "", as there is more than one
    prefix: int | None = None
    map: str | None = None
    columns: tuple[str, ...] = ()  # that are joined

    @property
    def source(self) -> str:
        """What it is derived from: itself, where engines join its columns."""
        return self.name if self.columns else self.column


def steps_to(name: str, groupers: Mapping[str, Grouper]) -> list[Grouper]:
    """The groupings on the way from a public column to this one: it is the last."""
    steps = [groupers[name]]
    while steps[0].column in groupers:
        steps.insert(0, groupers[steps[0].column])
    return steps


@dataclass(frozen=True)
class Data:
    """Where the confidential table is and which of its columns are public."""

    source: str | None  # None where the table is given in Python
    public: tuple[str, ...]
    id: str | None = None
    synthetic: bool = False  # made from public figures: nothing in it is confidential
    reading: Reading = AS_WRITTEN
    period: Period | None = None  # which of a series of tables it is

    @property
    def is_database(self) -> bool:
        """Whether the table is in a database that is reached by a driver, and not in a file."""
        return self.source is not None and self.source.startswith(DATABASE)


@dataclass(frozen=True)
class MicrodataOptions:
    """How the protected microdata are fitted."""

    weights: str = "quasi"
    nonnegative: bool = False
    whole: bool = False  # multiples of each attribute's unit


@dataclass(frozen=True)
class Output:
    """Where the release goes and the confidence of its intervals."""

    dir: str = "out"
    confidence: Decimal = Decimal("0.95")


@dataclass(frozen=True, repr=False)
class Spec:
    """Everything that shapes a release. Read one with `read_spec`, or make one in Python with `make_spec`."""

    data: Data
    policy: Policy
    queries: tuple[Query, ...]  # in the order of their answers: plain ones, those by classes, those for combinations
    groupers: Mapping[str, Grouper] = field(default_factory=dict)
    microdata: MicrodataOptions = MicrodataOptions()
    output: Output = Output()
    hierarchies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # groupings that nest, coarse to fine
    zeta: Decimal | None = None  # the chance that any value is clipped; 1/100 where it is not given
    ledger: str | None = None  # the file; where it is not given, one is found or made beside the data
    classes: Mapping[str, Classes] = field(default_factory=dict)  # of confidential attributes
    combinations: Mapping[str, Combination] = field(default_factory=dict)  # of confidential attributes
    labels: Mapping[str, Label] = field(default_factory=dict)  # what people call attributes, columns and groupings
    publication: Publication = field(default_factory=Publication)
    nouns: Nouns = AS_USUAL_NOUNS  # what people call records and units
    folder: Path = field(default=Path(), compare=False, repr=False)  # where its paths start
    lines: Mapping[Place, int] = field(default_factory=dict, compare=False, repr=False)  # of its keys in the file

    def __repr__(self) -> str:
        source = self.data.source or "a table in memory"
        queries = ", ".join(query.name for query in self.queries)
        spend = "" if self.policy.spend is None else f", of which {self.policy.spend} is spent"
        return f"Spec({source}: {', '.join(self.concerned)} by {queries}; budget {self.policy.mu}{spend})"

    def _repr_html_(self) -> str:
        attributes = [[name, str(a.protection), str(a.unit)] for name, a in self.policy.attributes.items()]
        weight = "importance" if self.is_individual else "mu"
        queries = [
            [query.name, ", ".join(query.by) or "all together", attribute, str(number)]
            for query in self.queries
            for attribute, number in query.numbers.items()
        ]
        return (
            f"<p>{escape(repr(self))}</p>"
            + html_table("What is protected", ["attribute", "close values", "unit"], attributes, texts=["attribute"])
            + html_table(
                "What is asked", ["query", "by", "attribute", weight], queries, texts=["query", "by", "attribute"]
            )
        )

    def source_path(self) -> Path:
        """Where the table is; rejects a spec that names no file."""
        if self.data.source is None:
            hint = "Name the file, or hand over a table"
            raise FaultsError("the spec", [Fault("data.source", "this key is missing", hint)])
        return self.folder / self.data.source

    def ledger_path(self) -> Path | None:
        """The ledger that it names."""
        return None if self.ledger is None else self.folder / self.ledger

    @property
    def is_individual(self) -> bool:
        """Whether it is answered by individual accounting: no query has a price of its own."""
        return bool(self.queries) and not any(query.mu for query in self.queries)

    @property
    def plain(self) -> tuple[Query, ...]:
        """The queries for sums of single attributes, by public groups or by record: what microdata are fitted to."""
        return tuple(query for query in self.queries if query.is_plain)

    @property
    def identities(self) -> tuple[Query, ...]:
        """The queries by record."""
        return tuple(query for query in self.queries if query.is_identity)

    @property
    def group_sums(self) -> tuple[Query, ...]:
        """The queries for sums of single attributes by public groups."""
        return tuple(query for query in self.plain if not query.is_identity)

    def sums_of(self, attribute: str) -> tuple[Query, ...]:
        """The queries for sums of an attribute by public groups."""
        return tuple(query for query in self.group_sums if attribute in query.numbers)

    def identity_of(self, attribute: str) -> Query | None:
        """The query that asks for an attribute by record."""
        return next((query for query in self.identities if attribute in query.numbers), None)

    @property
    def by_classes(self) -> tuple[Query, ...]:
        """The queries that group by classes."""
        return tuple(query for query in self.queries if query.classes)

    @property
    def tables(self) -> tuple[Query, ...]:
        """All queries but those by record: each has a table of answers."""
        return tuple(query for query in self.queries if not query.is_identity)

    @property
    def asked(self) -> list[str]:
        """The attributes that some plain query asks for, in the order of the policy."""
        return self._in_order(self.plain)

    @property
    def asked_combinations(self) -> list[str]:
        """The combinations that some query asks for, in the order of the spec."""
        return [name for name in self.combinations if any(name in query.combinations for query in self.queries)]

    @property
    def concerned(self) -> list[str]:
        """The attributes on which some answer depends, in the order of the policy."""
        return self._in_order(self.queries)

    def _in_order(self, queries: tuple[Query, ...]) -> list[str]:
        names = {name for query in queries for name in query.attributes}
        return [name for name in self.policy.attributes if name in names]

    @property
    def missing(self) -> dict[str, Decimal]:
        """What a null counts as, by column, where some answer depends on the column."""
        columns = {self.policy.attributes[name].column for name in self.concerned}
        return {column: number for column, number in self.data.reading.missing.items() if column in columns}
