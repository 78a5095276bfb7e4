"""What can be asked of a release: keys in their levels, codes, figures, tables; and what was protected, in words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gedp.desk.changing import make_changes, offered_changes, said_of_changes
from gedp.desk.command import tabulate_command
from gedp.desk.making import can_make, make_table
from gedp.desk.question import Question
from gedp.desk.source import NONE, ChangeOffer, Facts, FinishedTable, MadeTable, all_keys
from gedp.errors import DomainError, FaultsError
from gedp.explain.released import released_promise
from gedp.explain.wording import combined_sentences, missing_sentences
from gedp.known_codes import TREES
from gedp.margins import with_margin
from gedp.microdata import Microdata
from gedp.microdata.answers import class_names
from gedp.microdata.cells import PublicRows
from gedp.microdata.combinations import figures_of
from gedp.microdata.ratios import BUILT_IN, parse_ratios
from gedp.microdata.tabulate import known_keys
from gedp.policy import COUNT
from gedp.policy.model import steps_to
from gedp.publication.quality import Quality
from gedp.publication.ratios import with_ratios
from gedp.release import Labels, Manifest
from gedp.release.estimated import with_formula
from gedp.release.notices import SEEDED, SYNTHETIC
from gedp.report import check, strength, use


@dataclass(frozen=True, repr=False)
class Catalogue:
    """What a desk offers of a release."""

    microdata: Microdata
    folder: str  # as a command names it
    given_title: str | None = None
    quality: Quality = field(default_factory=Quality)
    earlier: "Catalogue | None" = None  # to compare with

    @property
    def public_rows(self) -> PublicRows:
        """The rows that tables are made of."""
        return self.microdata.public_rows

    @property
    def manifest(self) -> Manifest:
        """That of the release."""
        return self.microdata.release.manifest

    @cached_property
    def labels(self) -> Labels:
        """What people call keys, codes, attributes and ratios."""
        return with_ratios(self.microdata.release.labels)

    @property
    def heading_of_page(self) -> str:
        """What the desk is about."""
        given = self.given_title or self.public_rows.spec.publication.title
        return given or f"Statistics on {self.manifest.establishments:,} establishments"

    @cached_property
    def dimensions(self) -> Mapping[str, tuple[str, ...]]:
        """Keys that nest, coarse to fine, under a name: hierarchies of the spec, known codes, columns and groupings."""
        spec, found = self.public_rows.spec, dict[str, tuple[str, ...]]()
        for name, keys in spec.hierarchies.items():
            found[name] = tuple(filter(self._knows, keys))
        for tree in TREES:
            if self._knows(tree.column) and not any(tree.column in keys for keys in found.values()):
                count = self._count(tree.column)
                coarser = [key for key in tree.coarser if self._knows(key) and self._count(key) < count]
                found[tree.dimension] = (*coarser, tree.column)
        taken = {key for keys in found.values() for key in keys}
        for column in spec.data.public:
            of_column = [name for name in spec.groupers if steps_to(name, spec.groupers)[0].column == column]
            others = [name for name in (*of_column, column) if name not in taken and self._knows(name)]
            if column in taken:
                found |= {name: (name,) for name in others}
            else:
                found[column] = tuple(sorted(others, key=self._count))
        found |= {name: (name,) for name in self.classes}
        return {name: keys for name, keys in found.items() if keys}

    @cached_property
    def attributes(self) -> list[str]:
        """Those of the release, one that was split after its gain and its loss; combinations; what classes count."""
        spec = self.public_rows.spec
        counted = [COUNT] * any(COUNT in query.asked for query in spec.by_classes)
        return [*figures_of(self.microdata.attributes, spec), *counted]

    @cached_property
    def ratios(self) -> dict[str, str]:
        """The built-in ratios whose attributes are in the release, and their formulas."""
        fitting = [r.name for r in parse_ratios(list(BUILT_IN)) if set(r.attributes) <= set(self.attributes)]
        return {name: BUILT_IN[name] for name in fitting}

    @cached_property
    def classes(self) -> dict[str, list[str]]:
        """The classes that queries group by."""
        spec = self.public_rows.spec
        return {name: class_names(spec, name) for query in spec.by_classes for name in query.classes}

    @property
    def finished(self) -> tuple[FinishedTable, ...]:
        """None: any table can be made."""
        return ()

    @cached_property
    def facts(self) -> Facts:
        """What is said about the release: what was protected and how strongly, in sentences."""
        manifest, change = self.manifest, self.change
        seeds = [each.manifest.is_seeded for each in (self, self.earlier) if each is not None]
        secret, known = strength.protected_and_public(self.labels, self.public_rows.lists_establishments)
        return Facts(
            self.heading_of_page,
            check.made(manifest),
            float(self.public_rows.spec.output.confidence),
            manifest.establishments,
            any(seeds),
            (*([SEEDED] * any(seeds)), *([SYNTHETIC] * self.labels.spec.data.synthetic)),
            (
                f"Protected: {secret}. Not protected, because it is public: {known}.",
                *map(strength.example, strength.titled_groups(self.labels)),
                *released_promise(manifest),
                *missing_sentences(self.labels),
                *use.constrained(self.microdata),
                *combined_sentences(self.labels),
                *([] if change is None else [said_of_changes(change.since, has_seeds=sum(seeds) > 1)]),
            ),
            self.quality.meanings(),
            check.citation(self.heading_of_page, self.microdata.release),
            change=change,
        )

    @cached_property
    def change(self) -> ChangeOffer | None:
        """What can be compared with the earlier release, where there is one."""
        if (old := self.earlier) is None:
            return None
        keys = [key for key in all_keys(self) if old.knows(key)]
        attributes = [name for name in self.attributes if name in old.attributes]
        return offered_changes(self.microdata, old.microdata, keys, attributes, self.ratios)

    def title(self, name: str) -> str:
        """What people call a key or a dimension."""
        column = next((tree.column for tree in TREES if tree.dimension == name), name)
        return self.labels.title(name if name in self.labels.spec.labels else column)

    def heading(self, figure: str, formula: str | None = None) -> str:
        """What people call a figure, what it is counted in, and how it is computed, if it is."""
        return with_formula(self.labels.heading(figure), formula)

    def name_of(self, key: str, code: str, keys: Mapping[str, str]) -> str:
        """What people call a code."""
        return self.labels.name_of(key, code, keys)

    def codes_of(self, key: str) -> list[str]:
        """The codes of a key, in their order."""
        return self.classes.get(key) or self.public_rows.key(key)[1]

    def knows(self, key: str) -> bool:
        """Whether a table can be by it, or filtered by it."""
        return self._is_key(key)

    @cached_property
    def _is_key(self) -> Callable[[str], bool]:
        return known_keys(self.public_rows.source)

    def offers(self, question: Question) -> bool:
        """Whether a table is small enough to be made, and its attributes can be had."""
        return can_make(self.microdata, question)

    def table(self, question: Question) -> MadeTable:
        """The table of a question, made."""
        if question.is_change and self.earlier is not None:
            return make_changes(self.microdata, self.earlier.microdata, self.quality, question)
        return make_table(self.microdata, self.quality, question)

    def texts(self, figure: str, estimate: float | None, margin: float | None, flag: str) -> tuple[str, str]:
        """A figure and its margin in the units of the page: no more digits than the error allows."""
        if estimate is None:
            return NONE, "unknown"
        scale = self.labels.scale(figure)
        return with_margin(estimate / scale, None if margin is None else margin / scale)

    def command(self, question: Question) -> str | None:
        """The `gedp tabulate` that makes the same table."""
        return tabulate_command(question, self.folder, None if self.earlier is None else self.earlier.folder)

    def _count(self, key: str) -> int:
        return len(self.codes_of(key))

    def _knows(self, key: str) -> bool:
        return self.public_rows.knows(key) and self._has_codes(key)

    def _has_codes(self, key: str) -> bool:
        """Whether all rows have a code: not every column that is called naics holds industries."""
        try:
            self.public_rows.key(key)
        except (FaultsError, DomainError):
            return False
        return True
