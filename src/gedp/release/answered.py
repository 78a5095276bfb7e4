"""What a manifest says about queries: how each was answered, with how much noise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gedp.errors import DomainError
from gedp.policy import Measure, Query, Spec
from gedp.policy.measures import COUNTED, MECHANISMS
from gedp.policy.section import Section
from gedp.release.checks import FRESH, positive, require_stated

IDENTITY = "identity.parquet"  # a file, or a folder of parts
TABLES = "tables"
#: What a table can name as the mechanism of an answer.
ALL_MECHANISMS = (*MECHANISMS, COUNTED)


@dataclass(frozen=True)
class AttributeNoise:
    """How one thing that a query asks for was answered: σ of its ψ-mechanism, and the groups of each mechanism.

    `psi` is the ψ-mechanism, `pnc` (probably no clipping) the sums of clipped values, `count` that of counts.
    """

    sigma_psi: float | None  # None where groups have noise of their own
    groups: Mapping[str, int] = field(default_factory=dict)  # by mechanism; empty for the identity query
    certain: int = 0  # groups in which nobody can change anything, so that there is no noise

    @property
    def sigma(self) -> float:
        """σ where all answers have the same."""
        if self.sigma_psi is None:
            raise DomainError("every group has noise of its own")
        return self.sigma_psi


@dataclass(frozen=True)
class Answered:
    """One query, the number of its groups, and the noise of everything that it asks for.

    A query by classes has a group for every combination of classes in every public group.
    """

    query: Query
    groups: int
    noise: Mapping[str, AttributeNoise]

    @property
    def is_identity(self) -> bool:
        """Whether it is about single establishments."""
        return self.query.is_identity

    @property
    def lines(self) -> dict[str, int]:
        """How many lines of the table everything asked for has."""
        return dict.fromkeys(self.noise, self.groups)

    @property
    def file(self) -> str:
        """The Parquet file of the answers, relative to the folder of the release."""
        return IDENTITY if self.is_identity else f"{TABLES}/{self.query.name}.parquet"


def query_content(answered: Answered) -> dict[str, Any]:
    """As JSON."""
    return {
        "name": answered.query.name,
        "by": list(answered.query.by),
        "groups": answered.groups,
        "file": answered.file,
        "asked": {
            name: {
                **_stated(answered.query, name),
                "sigma_psi": noise.sigma_psi,
                "mechanisms": dict(noise.groups),
                "certain": noise.certain,
            }
            for name, noise in answered.noise.items()
        },
    }


def _stated(query: Query, name: str) -> dict[str, str]:
    """What the spec says about something that a query asks for: its price, or how much its errors count."""
    stated = {"mu": query.mu.get(name), "importance": query.importance.get(name)}
    return {key: str(number) for key, number in stated.items() if number is not None}


def read_queries(root: Section, entries: Sequence[Section], spec: Spec) -> tuple[Answered, ...]:
    """From JSON; faults are collected."""
    return tuple(_read(entry, query) for entry, query in _known(root, entries, spec.queries))


def _read(entry: Section, query: Query) -> Answered:
    asked, measures = entry.table("asked"), query.measures
    noise = {name: _read_noise(asked.table(name), query, measures[name]) for name in asked.content if name in measures}
    found = Answered(query, entry.whole("groups", low=1), noise)
    if asked.content.keys() != measures.keys():
        entry.fault("asked", "it is not that of the spec", FRESH)
    for name in ("by", "file"):
        require_stated(entry, name, query_content(found)[name])
    expected = 0 if found.is_identity else found.groups
    if any(sum(each.groups.values()) != expected or each.certain > expected for each in noise.values()):
        entry.fault("asked", "the numbers of groups do not add up", FRESH)
    entry.finish()
    return found


def _read_noise(section: Section, query: Query, measure: Measure) -> AttributeNoise:
    for key, number in _stated(query, measure.name).items():
        require_stated(section, key, number)
    has_one_size = measure.is_plain and (measure.is_by_record or query.mu)
    if has_one_size:
        sigma = section.converted("sigma_psi", positive, "a number above 0") or 1.0
    else:
        require_stated(section, "sigma_psi", None)
        sigma = None
    mechanisms = section.table("mechanisms")
    groups = {each: mechanisms.whole(each, 0) for each in mechanisms.content}
    if not groups.keys() <= set(measure.mechanisms):
        section.fault("mechanisms", "no such mechanism answers it", FRESH)
    mechanisms.finish()
    certain = section.whole("certain", 0)
    section.finish()
    return AttributeNoise(sigma, groups, certain)


def _known(root: Section, entries: Iterable[Section], queries: Iterable[Query]) -> Iterator[tuple[Section, Query]]:
    """Every entry with the query of the spec that it is about; faults those that are strange, double or missing."""
    known = {query.name: query for query in queries}
    for entry in entries:
        query = known.pop(entry.text("name"), None)
        if query is None:
            entry.fault("name", "the spec has no such query, or it is listed twice", FRESH)
        else:
            yield entry, query
    for name in known:
        root.fault("queries", f"the query {name!r} of the spec is missing", FRESH)
