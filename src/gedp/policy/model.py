"""The nouns of a spec: what is protected and how strongly, what is asked, and from which data.

Numbers that shape the guarantee are decimals exactly as written in the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from html import escape
from pathlib import Path

from gedp import web
from gedp.accounting.composition import PrivacyLoss, Promise
from gedp.errors import Fault, FaultsError
from gedp.neighbors import BUILT_IN, Protection, Signed, widen

ESTABLISHMENT = "establishment"
#: Columns of the tables that are made of a release, so neither a public column nor a grouping can be called like one.
TABLE_COLUMNS = (
    "attribute",
    "estimate",
    "variance",
    "std_error",
    "cv",
    "ci_low",
    "ci_high",
    "mechanism",
    "variance_kind",
    "cell",
    "one",
)
#: Follows the name of an attribute in the name of the column with its noisy values of psi.
PSI_SUFFIX = "__psi"
PSI_NAMES = tuple(BUILT_IN)
MECHANISMS = ("auto", "psi", "pnc")  # pnc: probably no clipping
WEIGHTS = ("quasi", "plug-in")
#: Of an interval; beyond it they soon have no ends.
MOST_CONFIDENCE = 0.999999999


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
    person: Decimal | None = None  # what one person typically contributes; for explanations only

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

    @property
    def budget(self) -> PrivacyLoss:
        """The most that all answers together may cost."""
        return PrivacyLoss.of(self.mu)

    @property
    def promise(self) -> Promise:
        """The promise if the whole budget is spent."""
        return Promise({name: a.protection for name, a in self.attributes.items()}, self.budget)


@dataclass(frozen=True)
class Query:
    """Sums of the confidential attributes by groups of public ones, at a price per attribute."""

    name: str
    by: tuple[str, ...]
    mu: Mapping[str, Decimal]
    mechanism: str = "auto"

    @property
    def is_identity(self) -> bool:
        """Whether every establishment is a group of its own."""
        return self.by == (ESTABLISHMENT,)


@dataclass(frozen=True)
class Grouper:
    """A public grouping derived from a public column: its first characters, or a lookup in a file."""

    name: str
    column: str
    prefix: int | None = None
    map: str | None = None


@dataclass(frozen=True)
class Data:
    """Where the confidential table is and which of its columns are public."""

    source: str | None  # None where the table is given in Python
    public: tuple[str, ...]
    id: str | None = None
    synthetic: bool = False  # made from public figures: nothing in it is confidential


@dataclass(frozen=True)
class MicrodataOptions:
    """How the protected microdata are fitted."""

    weights: str = "quasi"
    nonnegative: bool = False
    whole: bool = False  # multiples of each attribute's unit


#: The constraints on microdata that take no more than their name; each is a field of `MicrodataOptions`.
CONSTRAINTS = ("nonnegative", "whole")


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
    queries: tuple[Query, ...]
    groupers: Mapping[str, Grouper] = field(default_factory=dict)
    microdata: MicrodataOptions = MicrodataOptions()
    output: Output = Output()
    folder: Path = field(default=Path(), compare=False, repr=False)  # where its paths start

    def __repr__(self) -> str:
        source = self.data.source or "a table in memory"
        queries = ", ".join(query.name for query in self.queries)
        return f"Spec({source}: {', '.join(self.asked)} by {queries}; budget {self.policy.mu})"

    def _repr_html_(self) -> str:
        attributes = [[name, str(a.protection), str(a.unit)] for name, a in self.policy.attributes.items()]
        queries = [
            [query.name, ", ".join(query.by) or "all together", attribute, str(mu)]
            for query in self.queries
            for attribute, mu in query.mu.items()
        ]
        return (
            f"<p>{escape(repr(self))}</p>"
            + web.table("What is protected", ["attribute", "close values", "unit"], attributes, texts=["attribute"])
            + web.table(
                "What is asked", ["query", "by", "attribute", "mu"], queries, texts=["query", "by", "attribute"]
            )
        )

    def source_path(self) -> Path:
        """Where the table is; refuses a spec that names no file."""
        if self.data.source is None:
            hint = "Name the file, or hand over a table"
            raise FaultsError("the spec", [Fault("data.source", "this key is missing", hint)])
        return self.folder / self.data.source

    @property
    def asked(self) -> list[str]:
        """The attributes that some query asks for, in the order of the policy."""
        names = {name for query in self.queries for name in query.mu}
        return [name for name in self.policy.attributes if name in names]
