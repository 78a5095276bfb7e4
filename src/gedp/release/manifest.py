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
from gedp.errors import Fault, FaultsError
from gedp.files import regular
from gedp.periods import Period
from gedp.policy import PriceList, Spec, parse_spec, price, whole_pools, write_spec
from gedp.policy.section import Faults, Section
from gedp.release.answered import IDENTITY, TABLES, Answered, query_content, read_queries
from gedp.release.checks import FRESH, is_null, require_stated, texts
from gedp.release.cumulative import CumulativePromise, cumulative_content, read_cumulative
from gedp.release.individual import Individual, individual_content, read_individual
from gedp.release.series_content import charges_content

MANIFEST = "manifest.json"
FORMAT = 8  # the first of a released version; 1 to 7 were never part of one
MAPS = "maps"
LABELS = "labels"
ENTROPIES = ("system", "seeded")

_PART = re.compile(rf"{re.escape(IDENTITY)}/part-\d{{5}}\.parquet")

UNREADABLE = (OSError, ValueError, RecursionError)


@dataclass(frozen=True)
class Manifest:
    """Nothing in it comes from the confidential columns but through noise."""

    gedp: str
    created: datetime
    release: str | None  # its name in the ledger; None where there is no ledger
    entropy: str
    establishments: int
    spec: Spec
    answered: tuple[Answered, ...]  # every query of the spec
    zeta: Fraction | None  # None where nothing can be clipped
    estimates: Mapping[str, str]
    together: CumulativePromise | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    individual: Mapping[str, Individual] = field(default_factory=dict)  # by attribute; empty under the paper's rule

    @property
    def is_seeded(self) -> bool:
        """Whether the noise can be drawn again by whoever knows the seed, so that nothing is protected."""
        return self.entropy != "system"

    @property
    def period(self) -> Period | None:
        """Which of a series of tables it is about; None where that is not said."""
        return self.spec.data.period

    @property
    def prices(self) -> PriceList:
        """What each query cost for each attribute, and in total."""
        return price(self.spec)

    def query(self, name: str) -> Answered | None:
        """The query of that name, as it was answered."""
        return next((answered for answered in self.answered if answered.query.name == name), None)

    @property
    def identity_files(self) -> list[str]:
        """The file with the establishments, or the files of their parts."""
        return sorted(name for name in self.files if name == IDENTITY or is_part(name))

    @property
    def tables(self) -> tuple[Answered, ...]:
        """All queries but the identity query: those that are published as tables."""
        return tuple(answered for answered in self.answered if not answered.is_identity)


def expected_files(spec: Spec) -> set[str]:
    """The files of a release of this spec besides its manifest."""
    files = {IDENTITY} if spec.identities else set()
    files |= {f"{TABLES}/{query.name}.{kind}" for query in spec.tables for kind in ("parquet", "csv")}
    files |= {f"{LABELS}/{name}.csv" for name, label in spec.labels.items() if label.codes is not None}
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
    if content.get("format") != FORMAT:
        found = content.get("format")
        stated = f"its format is {found}" if isinstance(found, int) else "it states no format"
        raise FaultsError(str(folder), [Fault(MANIFEST, stated, f"This version reads format {FORMAT}")])
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
        "format": FORMAT,
        "gedp": manifest.gedp,
        "created": manifest.created.isoformat(timespec="seconds"),
        "release": manifest.release,
        "entropy": manifest.entropy,
        "synthetic": spec.data.synthetic,
        "establishments": manifest.establishments,
        "promise": {**_promise(spec), "in_words": list(translations(manifest.prices.total).sentences)},
        "together": None if manifest.together is None else cumulative_content(manifest.together),
        "estimates": dict(manifest.estimates),
        "clipping": None if manifest.zeta is None else {"zeta": str(manifest.zeta)},
        "prices": _prices(spec),
        "individual": {name: individual_content(each) for name, each in manifest.individual.items()},
        "queries": [query_content(answered) for answered in manifest.answered],
        "spec": write_spec(spec),
        "files": dict(manifest.files),
    }


def _promise(spec: Spec) -> dict[str, Any]:
    prices = price(spec)
    total = prices.total
    translated = translations(total)
    return {
        "mu": total.mu,
        "mu_squared": str(total.mu_squared),
        "rho": str(total.rho),
        "renyi": {str(order): divergence for order, divergence in translated.renyi},
        "epsilon_by_delta": {f"{delta:g}": epsilon for delta, epsilon in translated.epsilons},
        "missed_by_false_alarms": {f"{alarms:g}": least for alarms, least in translated.trade_off},
        "budget_mu": str(spec.policy.mu),
        "attributes": {name: str(spec.policy.attributes[name].protection) for name in spec.concerned},
        **({"charged": charges_content(prices.charges)} if prices.charges else {}),
    }


def _prices(spec: Spec) -> list[dict[str, str]]:
    return [
        {"query": p.query, "attribute": p.attribute, "mu": p.mu, "mu_squared": str(p.loss.mu_squared)}
        for p in price(spec).lines
    ]


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
    together = None if is_null(root, "together") else read_cumulative(root.table("together"))
    files = texts(root.table("files"))
    entries = [] if root.content.get("queries") == [] and root.has("queries") else root.tables("queries")
    terms = root.table("individual")
    individual = {name: read_individual(terms.table(name)) for name in terms.content}
    for name in ("synthetic", "promise", "prices"):
        root.has(name)
    root.finish()
    if spec is None or created is None:
        return None
    require_stated(root, "synthetic", spec.data.synthetic)
    if together is not None and not together.covers(spec.data.period):
        root.fault("together", "it does not have the period of the spec", FRESH)
    require_stated(root, "prices", _prices(spec))
    if not _is_promise(root.content.get("promise"), _promise(spec)):
        root.fault("promise", "it is not that of the spec", FRESH)
    if (bool(spec.identities) and not spec.is_individual) == (zeta is None):
        root.fault("clipping", "it does not fit the queries of the spec", FRESH)
    if zeta is not None and spec.zeta is not None and zeta != Fraction(spec.zeta):
        root.fault("clipping", "it is not that of the spec", FRESH)
    if individual.keys() != whole_pools(spec).keys():
        root.fault("individual", "its attributes are not those of the spec", FRESH)
    answered = read_queries(root, entries, spec)
    in_parts = any(map(is_part, files))
    listed = {IDENTITY if in_parts and is_part(name) else name for name in files}
    if in_parts and IDENTITY in files:
        faults.add(("files", IDENTITY), "it is listed beside its parts", FRESH)
    for name in sorted(expected_files(spec) ^ listed):
        problem = "it is listed, but is not a file of this release" if name in files else "it is not listed"
        faults.add(("files", name), problem, FRESH)
    said = version, created, release, entropy, establishments, spec, answered, zeta, estimates, together, files
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
