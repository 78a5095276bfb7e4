"""What a manifest says about queries for sums by public groups: how each was answered, with how much noise."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from gedp.errors import DomainError
from gedp.policy import ClassQuery, CombinationQuery, Query, Spec
from gedp.policy.keys import MECHANISMS as SPEC_MECHANISMS
from gedp.policy.section import Section

IDENTITY = "identity.parquet"  # a file, or a folder of parts
TABLES = "tables"
#: That a query can be answered by; a spec may also leave the choice to "auto".
MECHANISMS = tuple(name for name in SPEC_MECHANISMS if name != "auto")
#: What to do about a manifest with faults.
FRESH = "Get a fresh copy of the release"

AnyQuery = TypeVar("AnyQuery", Query, ClassQuery, CombinationQuery)


@dataclass(frozen=True)
class AttributeNoise:
    """How one attribute of a query was answered: σ of its ψ-mechanism, and how many groups each mechanism answered.

    `psi` is the ψ-mechanism, `pnc` (probably no clipping) the sums of clipped values.
    """

    sigma_psi: float | None  # None for the groups of individual accounting, each of which has its own noise
    groups: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(MECHANISMS, 0))  # 0 for the identity query

    @property
    def sigma(self) -> float:
        """σ where all answers have the same."""
        if self.sigma_psi is None:
            raise DomainError("every group has noise of its own")
        return self.sigma_psi


@dataclass(frozen=True)
class Answered:
    """One query, the number of its groups, and the noise of each of its attributes."""

    query: Query
    groups: int
    noise: Mapping[str, AttributeNoise]
    mechanisms: ClassVar[tuple[str, ...]] = MECHANISMS

    @property
    def lines(self) -> dict[str, int]:
        """How many lines of the table everything asked for has."""
        return dict.fromkeys(self.noise, self.groups)

    @property
    def file(self) -> str:
        """The Parquet file of the answers, relative to the folder of the release."""
        return IDENTITY if self.query.is_identity else f"{TABLES}/{self.query.name}.parquet"


def query_content(answered: Answered) -> dict[str, Any]:
    """As JSON."""
    query = answered.query
    return {
        "name": query.name,
        "by": list(query.by),
        "mechanism": "psi" if query.is_identity else query.mechanism,
        "groups": answered.groups,
        "file": answered.file,
        "attributes": {
            name: {
                **_asked(query, name),
                "sigma_psi": noise.sigma_psi,
                **{f"groups_{mechanism}": count for mechanism, count in noise.groups.items()},
            }
            for name, noise in answered.noise.items()
        },
    }


def _asked(query: Query, name: str) -> dict[str, str]:
    """What the spec says about one attribute of a query: its price, or how much its errors count."""
    stated = {"mu": query.mu.get(name), "importance": query.importance.get(name)}
    return {key: str(number) for key, number in stated.items() if number is not None}


def read_queries(root: Section, entries: list[Section], spec: Spec) -> tuple[Answered, ...]:
    """From JSON; faults are collected."""
    answered = []
    for entry, query in known_queries(root, "queries", entries, spec.queries):
        groups = entry.whole("groups", low=1)
        noise = {}
        attributes = entry.table("attributes")
        for name in attributes.content:
            attribute = attributes.table(name)
            for key, number in _asked(query, name).items():
                require_stated(attribute, key, number)
            has_own = query.is_individual and not query.is_identity
            if has_own:
                require_stated(attribute, "sigma_psi", None)
            sigma = None if has_own else attribute.converted("sigma_psi", _positive, "a number above 0") or 1.0
            by_mechanism = {mechanism: attribute.whole(f"groups_{mechanism}", 0) for mechanism in MECHANISMS}
            noise[name] = AttributeNoise(sigma, by_mechanism)
            attribute.finish()
        found = Answered(query, groups, noise)
        if noise.keys() != set(query.attributes):
            entry.fault("attributes", "they are not those of the spec", FRESH)
        else:
            for name in ("by", "mechanism", "file"):
                require_stated(entry, name, query_content(found)[name])
            if any(sum(n.groups.values()) != (0 if query.is_identity else groups) for n in noise.values()):
                entry.fault("attributes", "their numbers of groups do not add up", FRESH)
        entry.finish()
        answered.append(found)
    return tuple(answered)


def known_queries(
    root: Section, key: str, entries: Iterable[Section], queries: Iterable[AnyQuery]
) -> Iterator[tuple[Section, AnyQuery]]:
    """Every entry with the query of the spec that it is about; faults those that are strange, double or missing."""
    known = {query.name: query for query in queries}
    for entry in entries:
        query = known.pop(entry.text("name"), None)
        if query is None:
            entry.fault("name", "the spec has no such query, or it is listed twice", FRESH)
        else:
            yield entry, query
    for name in known:
        root.fault(key, f"the query {name!r} of the spec is missing", FRESH)


def require_stated(section: Section, key: str, expected: object) -> None:
    """Faults a key that says something else than the spec."""
    section.has(key)
    if section.content.get(key) != expected:
        section.fault(key, "it is not that of the spec", FRESH)


def _positive(value: object) -> float:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    if not 0 < number < float("inf"):
        raise ValueError
    return number
