"""The manifest of a release: what was promised, what was answered with how much noise, and a checksum of every file.

Measuring writes it; everything that comes after reads it, here. A reader names every fault. Within one format keys are
neither added, dropped nor given another meaning.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from gedp.accounting.translations import translations
from gedp.errors import DomainError, Fault, FaultsError
from gedp.files import regular
from gedp.policy import PriceList, Query, Spec, parse_spec, price, write_spec
from gedp.policy.model import MECHANISMS as SPEC_MECHANISMS
from gedp.policy.section import Faults, Section
from gedp.release.individual import Individual, individual_content, read_individual
from gedp.release.together import Together, texts, together_content, together_in

MANIFEST = "manifest.json"
IDENTITY = "identity.parquet"  # a file, or a folder of parts
MAPS = "maps"
TABLES = "tables"
FORMAT = 3
#: The same where the establishments are in parts, which readers of format 3 do not know.
FORMAT_IN_PARTS = 4
#: That a query can be answered by; a spec may also leave the choice to "auto".
MECHANISMS = tuple(name for name in SPEC_MECHANISMS if name != "auto")
ENTROPIES = ("system", "seeded")

_PART = re.compile(rf"{re.escape(IDENTITY)}/part-\d{{5}}\.parquet")

UNREADABLE = (OSError, ValueError, RecursionError)

_FRESH = "Get a fresh copy of the release"


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

    @property
    def file(self) -> str:
        """The Parquet file of the answers, relative to the folder of the release."""
        return IDENTITY if self.query.is_identity else f"{TABLES}/{self.query.name}.parquet"


@dataclass(frozen=True)
class Manifest:
    """Nothing in it comes from the confidential columns but through noise."""

    gedp: str
    created: datetime
    release: str | None  # its name in the ledger; None where there is no ledger
    entropy: str
    establishments: int
    spec: Spec
    queries: tuple[Answered, ...]
    zeta: Fraction | None  # None where nothing can be clipped
    estimates: Mapping[str, str]
    together: Together | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    individual: Mapping[str, Individual] = field(default_factory=dict)  # by attribute; empty under the paper's rule

    @property
    def is_seeded(self) -> bool:
        """Whether the noise can be drawn again by whoever knows the seed, so that nothing is protected."""
        return self.entropy != "system"

    @property
    def prices(self) -> PriceList:
        """What each query cost for each attribute, and in total."""
        return price(self.spec)

    def query(self, name: str) -> Answered | None:
        """The query of that name, as it was answered."""
        return next((answered for answered in self.queries if answered.query.name == name), None)

    @property
    def identity_files(self) -> list[str]:
        """The file with the establishments, or the files of their parts."""
        return sorted(name for name in self.files if name == IDENTITY or is_part(name))

    @property
    def tables(self) -> tuple[Answered, ...]:
        """All queries but the identity query: those that are published as tables."""
        return tuple(answered for answered in self.queries if not answered.query.is_identity)


def expected_files(spec: Spec) -> set[str]:
    """The files of a release of this spec besides its manifest."""
    files = {IDENTITY for query in spec.queries if query.is_identity}
    files |= {
        f"{TABLES}/{query.name}.{kind}"
        for query in spec.queries
        if not query.is_identity
        for kind in ("parquet", "csv")
    }
    return files | {f"{MAPS}/{name}.csv" for name, grouper in spec.groupers.items() if grouper.map is not None}


def is_part(name: str) -> bool:
    """Whether a file of a release is a part of its establishments."""
    return _PART.fullmatch(name) is not None


def part_name(number: int) -> str:
    """The name of a part, in the folder of the establishments."""
    return f"part-{number:05}.parquet"


def manifest_text(manifest: Manifest) -> str:
    """The manifest as the JSON text that `read_manifest` reads."""
    return json.dumps(_content(manifest), indent=2, ensure_ascii=False) + "\n"


def is_release(folder: Path) -> bool:
    """Whether a folder is a release, even one with faults in its manifest."""
    try:
        return {"queries", "files"} <= _raw(folder).keys()
    except UNREADABLE:
        return False


def read_manifest(folder: Path) -> Manifest:
    """The manifest in a folder; every fault in one error."""
    try:
        content = _raw(folder)
    except UNREADABLE:
        problem = Fault(MANIFEST, "it is missing or cannot be read", "Name a folder that `gedp run` wrote")
        raise FaultsError(str(folder), [problem]) from None
    if content.get("format") not in (FORMAT, FORMAT_IN_PARTS):
        found = content.get("format")
        stated = f"its format is {found}" if isinstance(found, int) else "it states no format"
        readable = f"This version reads formats {FORMAT} and {FORMAT_IN_PARTS}"
        raise FaultsError(str(folder), [Fault(MANIFEST, stated, readable)])
    faults = Faults({})
    manifest = _read(Section(faults, (), content), faults)
    if manifest is None or faults.found:
        raise FaultsError(f"{folder / MANIFEST}", faults.found)
    return manifest


def _raw(folder: Path) -> dict[str, Any]:
    content = json.loads(regular(folder / MANIFEST).read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError
    return content


def _content(manifest: Manifest) -> dict[str, Any]:
    spec = manifest.spec
    return {
        "format": FORMAT_IN_PARTS if any(map(is_part, manifest.files)) else FORMAT,
        "gedp": manifest.gedp,
        "created": manifest.created.isoformat(timespec="seconds"),
        "release": manifest.release,
        "entropy": manifest.entropy,
        "synthetic": spec.data.synthetic,
        "establishments": manifest.establishments,
        "promise": {**_promise(spec), "in_words": list(translations(manifest.prices.total).sentences)},
        "together": None if manifest.together is None else together_content(manifest.together),
        "estimates": dict(manifest.estimates),
        "clipping": None if manifest.zeta is None else {"zeta": str(manifest.zeta)},
        "prices": _prices(spec),
        "individual": {name: individual_content(each) for name, each in manifest.individual.items()},
        "queries": [_query_content(answered) for answered in manifest.queries],
        "spec": write_spec(spec),
        "files": dict(manifest.files),
    }


def _promise(spec: Spec) -> dict[str, Any]:
    total = price(spec).total
    translated = translations(total)
    return {
        "mu": total.mu,
        "mu_squared": str(total.mu_squared),
        "rho": str(total.rho),
        "renyi": {str(order): divergence for order, divergence in translated.renyi},
        "epsilon_by_delta": {f"{delta:g}": epsilon for delta, epsilon in translated.epsilons},
        "missed_by_false_alarms": {f"{alarms:g}": least for alarms, least in translated.trade_off},
        "budget_mu": str(spec.policy.mu),
        "attributes": {name: str(spec.policy.attributes[name].protection) for name in spec.asked},
    }


def _prices(spec: Spec) -> list[dict[str, str]]:
    return [
        {"query": p.query, "attribute": p.attribute, "mu": p.mu, "mu_squared": str(p.loss.mu_squared)}
        for p in price(spec).lines
    ]


def _query_content(answered: Answered) -> dict[str, Any]:
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


def _read(root: Section, faults: Faults) -> Manifest | None:
    """The manifest, or None where its spec cannot be read; faults are collected."""
    root.has("format")
    spec = _spec(root)
    created = root.converted("created", datetime.fromisoformat, "a date and time")
    release = None if is_null(root, "release") else root.text("release")
    version, entropy = root.text("gedp"), root.text("entropy", choices=ENTROPIES)
    establishments = root.whole("establishments", low=1)
    estimates = texts(root.table("estimates"))
    zeta = None
    if not is_null(root, "clipping"):
        clipping = root.table("clipping")
        zeta = clipping.converted("zeta", _chance, "a chance like 1/100")
        clipping.finish()
    together = None if is_null(root, "together") else together_in(root.table("together"))
    files = texts(root.table("files"))
    entries = root.tables("queries")
    terms = root.table("individual")
    individual = {name: read_individual(terms.table(name)) for name in terms.content}
    for name in ("synthetic", "promise", "prices"):
        root.has(name)
    root.finish()
    if spec is None or created is None:
        return None
    _require(root, "synthetic", spec.data.synthetic)
    _require(root, "prices", _prices(spec))
    if not _is_promise(root.content.get("promise"), _promise(spec)):
        root.fault("promise", "it is not that of the spec", _FRESH)
    if any(query.is_identity and not query.is_individual for query in spec.queries) == (zeta is None):
        root.fault("clipping", "it does not fit the queries of the spec", _FRESH)
    if zeta is not None and spec.zeta is not None and zeta != Fraction(spec.zeta):
        root.fault("clipping", "it is not that of the spec", _FRESH)
    if individual.keys() != (set(spec.asked) if spec.is_individual else set()):
        root.fault("individual", "its attributes are not those of the spec", _FRESH)
    queries = _queries(root, entries, spec)
    in_parts = root.content["format"] == FORMAT_IN_PARTS
    listed = {IDENTITY if in_parts and is_part(name) else name for name in files}
    if in_parts and IDENTITY in files:
        faults.add(("files", IDENTITY), "it is listed beside its parts", _FRESH)
    for name in sorted(expected_files(spec) ^ listed):
        problem = "it is listed, but is not a file of this release" if name in files else "it is not listed"
        faults.add(("files", name), problem, _FRESH)
    said = version, created, release, entropy, establishments, spec, queries, zeta, estimates, together, files
    return Manifest(*said, individual)


def _spec(root: Section) -> Spec | None:
    text = root.text("spec")
    if not text:
        return None
    try:
        return parse_spec(text, "the spec in the manifest", in_memory=True)
    except FaultsError as error:
        for fault in error.faults:
            root.fault("spec", f"{fault.place}: {fault.problem}", fault.suggestion)
        return None


def _queries(root: Section, entries: list[Section], spec: Spec) -> tuple[Answered, ...]:
    known = {query.name: query for query in spec.queries}
    answered = []
    for entry in entries:
        query = known.pop(entry.text("name"), None)
        if query is None:
            entry.fault("name", "the spec has no such query, or it is listed twice", _FRESH)
            continue
        groups = entry.whole("groups", low=1)
        noise = {}
        attributes = entry.table("attributes")
        for name in attributes.content:
            attribute = attributes.table(name)
            for key, number in _asked(query, name).items():
                _require(attribute, key, number)
            has_own = query.is_individual and not query.is_identity
            if has_own:
                _require(attribute, "sigma_psi", None)
            sigma = None if has_own else attribute.converted("sigma_psi", _positive, "a number above 0") or 1.0
            by_mechanism = {mechanism: attribute.whole(f"groups_{mechanism}", 0) for mechanism in MECHANISMS}
            noise[name] = AttributeNoise(sigma, by_mechanism)
            attribute.finish()
        found = Answered(query, groups, noise)
        if noise.keys() != set(query.attributes):
            entry.fault("attributes", "they are not those of the spec", _FRESH)
        else:
            for name in ("by", "mechanism", "file"):
                _require(entry, name, _query_content(found)[name])
            if any(sum(n.groups.values()) != (0 if query.is_identity else groups) for n in noise.values()):
                entry.fault("attributes", "their numbers of groups do not add up", _FRESH)
        entry.finish()
        answered.append(found)
    for name in known:
        root.fault("queries", f"the query {name!r} of the spec is missing", _FRESH)
    return tuple(answered)


def is_null(section: Section, key: str) -> bool:
    """Whether a key is there and says that there is nothing."""
    return section.has(key) and section.content[key] is None


def _require(section: Section, key: str, expected: object) -> None:
    section.has(key)
    if section.content.get(key) != expected:
        section.fault(key, "it is not that of the spec", _FRESH)


def _is_promise(found: object, expected: Mapping[str, Any]) -> bool:
    """Whether a promise is the expected one, in words that may be others."""
    return isinstance(found, dict) and _agree(found, {**expected, "in_words": found.get("in_words")})


def _agree(found: Any, expected: Any) -> bool:
    """Whether two contents are the same; floats may differ in the last digits, which are the machine's."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(_agree(found[key], expected[key]) for key in expected)
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9)
    return bool(found == expected)


def _chance(value: object) -> Fraction:
    chance = Fraction(value) if isinstance(value, str) else Fraction(0)
    if not 0 < chance < 1:
        raise ValueError
    return chance


def _positive(value: object) -> float:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
    if not 0 < number < float("inf"):
        raise ValueError
    return number
