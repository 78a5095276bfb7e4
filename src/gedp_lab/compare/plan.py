"""What every replicate does, and whether it can be done at all: everything is rejected before the first draw."""

import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from gedp._version import __version__
from gedp.confidential.engines.choice import engine_like
from gedp.confidential.preparing import require_sound
from gedp.confidential.table import ConfidentialTable, open_table_of
from gedp.errors import Fault, FaultsError, Refused
from gedp.ledger.digests import fingerprint
from gedp.microdata.constraints.apply import Constraints
from gedp.neighbors.estimates import ZETA
from gedp.policy import COUNT, Spec, price, require_within_budget, write_spec
from gedp.policy.reading import is_address
from gedp_lab.baselines.workflows import BASELINES
from gedp_lab.compare.sweeps import Setting, settings_of
from gedp_lab.compare.workflows import ORACLE, Workflow, parse_workflows, spec_for, usual_workflows, with_attributes
from gedp_lab.evaluate.folder import Stamp
from gedp_lab.evaluate.levels import attributes_behind, chosen_figures, in_several

FORMAT = 4  # of replicates: folders of another are refused


@dataclass(frozen=True)
class ComparisonPlan:
    """The table, the ways to spend the budget on it, and what is compared."""

    whole: Spec  # as it was given
    settings: tuple[Setting, ...]  # of the attributes that are compared, at their prices
    workflows: tuple[Workflow, ...]
    figures: tuple[str, ...]
    by: tuple[tuple[str, ...], ...] | None  # None: the levels of the QCEW and the queries' own groupings
    source: str
    folder: Path  # of the map files that the spec names
    zeta: Fraction  # for the attributes that are compared: the settings have none
    seed: int | None = None
    left_out: tuple[str, ...] = ()  # tables and workflows that are not compared, with the reason

    @property
    def spec(self) -> Spec:
        """The spec of the first setting, whose data, groupings and attributes are those of all."""
        return self.settings[0].spec

    @property
    def attributes(self) -> list[str]:
        """The attributes that the figures add up."""
        return attributes_behind(self.spec, self.figures)

    @property
    def stamp(self) -> Stamp:
        """CONFIDENTIAL, unless the spec says that the data is synthetic."""
        return Stamp(confidential=not self.spec.data.synthetic)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Those of the workflows, each once; workflows that differ in weights alone share one rehearsal."""
        return tuple(dict.fromkeys(workflow.mechanism for workflow in self.workflows))

    def open_table(self) -> ConfidentialTable:
        """Opens the table and rejects one that cannot be released."""
        return open_table_of(self.spec, engine_like(self.spec, self.source), self.folder)

    def described(self) -> dict[str, Any]:
        """What is compared, for the index and the page, in words that need no other file."""
        return {
            "table": Path(self.source).name,
            "budget_mu": str(self.whole.policy.mu),
            "settings": [setting.name for setting in self.settings],
            "workflows": [workflow.name for workflow in self.workflows],
            "attributes": list(self.figures),
            "left_out": list(self.left_out),
            "seed": self.seed,
            "spec": write_spec(self.whole),
        }

    def fingerprint(self, key: bytes) -> str:
        """A digest of everything that shapes a replicate, the content of the table and of map files among it.

        Keyed, since a plain hash of the table could confirm a guess. The key stays in the folder of the comparison.
        """
        files = engine_like(self.spec, self.source).files()
        maps = [self.folder / grouper.map for grouper in self.spec.groupers.values() if grouper.map]
        parts = [
            __version__,
            FORMAT,
            [[setting.name, write_spec(_nameless(setting.spec))] for setting in self.settings],
            [workflow.name for workflow in self.workflows],
            self.figures,
            self.by,
            [fingerprint(paths, key) for paths in (files, *([path] for path in maps))],
            str(self.zeta),
            self.seed,
        ]
        return hmac.new(key, json.dumps(parts).encode(), hashlib.sha256).hexdigest()


def truth_of(spec: Spec, named: str | None) -> str:
    """The file with the true values: the one that is named, or the source of the spec, which must be a file."""
    source = spec.data.source or ""
    if named is None and (spec.data.is_database or is_address(source)):
        hint = "Name a file with its rows: --truth FILE"
        raise FaultsError("the spec", [Fault("data.source", "the truth is read again and again, from a file", hint)])
    return str(named or spec.source_path())


def make_plan(
    spec: Spec,
    source: str,
    *,
    folder: Path = Path(),
    workflows: Sequence[str] | None = None,
    attributes: Sequence[str] | None = None,
    by: Sequence[Sequence[str]] | None = None,
    sweep: str | None = None,
    seed: int | None = None,
) -> ComparisonPlan:
    """Plans a comparison, or raises why it is rejected. Map files are looked up from `folder`."""
    chosen = parse_workflows(workflows or usual_workflows(spec))
    if not spec.data.synthetic:
        if any(workflow.weights == ORACLE for workflow in chosen):
            raise Refused(
                f"{ORACLE} weights are made from the true values: no release can have them, and how well they do would "
                "tell too much about the truth. They are only for data that the spec declares synthetic"
            )
        if seed is not None:
            raise Refused("seeded noise can be subtracted again; it is only for data that the spec declares synthetic")
    figures = chosen_figures(spec, attributes, "the comparison")
    names = attributes_behind(spec, figures)
    if COUNT in figures:
        names += [name for query in spec.by_classes for name in query.classed]
    whole = settings_of(spec, sweep)
    for setting in whole:
        require_sound(setting.spec)
        require_within_budget(price(setting.spec))
    settings = [Setting(each.name, replace(with_attributes(each.spec, names), zeta=None)) for each in whole]
    groupings = None if by is None else tuple(tuple(keys) for keys in by)
    of_whole = ZETA if spec.zeta is None else Fraction(spec.zeta)
    zeta = of_whole * Fraction(max(_identities(settings[0].spec), 1), max(_identities(spec), 1))
    chosen, unable = (chosen, []) if workflows else _answering(chosen, settings)
    left_out = (*unable, *_not_answered(settings[0].spec, chosen))
    return ComparisonPlan(
        spec, tuple(settings), tuple(chosen), tuple(figures), groupings, source, folder, zeta, seed, left_out
    )


def _not_answered(spec: Spec, workflows: Sequence[Workflow]) -> Iterator[str]:
    """The tables that some workflow, or all of them, are not compared in, and why."""
    others = ", ".join(query.name for query in spec.queries if not query.is_plain)
    baselines = ", ".join(workflow.name for workflow in workflows if workflow.mechanism in BASELINES)
    if others and baselines:
        yield f"{baselines} in {others}, as baselines answer sums by public groups alone"
    by_class = ", ".join(query.name for query in spec.by_classes)
    if (several := ", ".join(in_several(spec))) and Constraints.of(spec.microdata).named:
        yield f"{several} by classes, as several tables cannot agree and also be non-negative or whole"
    if by_class and not _identities(spec):
        yield f"{by_class}, as no query asks for establishments, whose classes would have to be known"


def _answering(usual: Sequence[Workflow], settings: Sequence[Setting]) -> tuple[list[Workflow], list[str]]:
    """Of the usual workflows those that can answer the spec, and why the others cannot; all where none can."""
    able, unable = [], []
    for workflow in usual:
        try:
            for spec in (setting.spec for setting in settings):
                require_sound(spec_for(spec, workflow.mechanism, dict.fromkeys(spec.policy.attributes, Fraction(1))))
            able.append(workflow)
        except FaultsError as error:
            unable.append(f"{workflow.name}, as it cannot answer this spec: {error.faults[0].problem}")
    return (able, unable) if able else (list(usual), [])


def _identities(spec: Spec) -> int:
    """How many attributes have answers for establishments.

    The chance ζ that clipping bounds fail is divided among them, so that each has the bounds of the whole release even
    where others are left out.
    """
    return sum(len(query.asked) for query in spec.identities)


def _nameless(spec: Spec) -> Spec:
    """The spec without the names of files and folders, which change no result."""
    return replace(spec, data=replace(spec.data, source="table"), output=replace(spec.output, dir="out"))
