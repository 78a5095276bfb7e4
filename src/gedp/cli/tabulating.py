"""What `gedp tabulate` was asked for, fitted release by release, and what is to be said about the result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gedp.microdata.cells import columns_alone, read_public_rows
from gedp.microdata.combinations import parts_of
from gedp.microdata.comparing import NOT_AFTER, NOT_BEFORE, NOTE
from gedp.microdata.kinds import stay_on_file
from gedp.microdata.on_file import find_microdata, is_on_file
from gedp.microdata.qcew import needed_attributes
from gedp.microdata.series_table import tabulate_series
from gedp.microdata.tabulate import require_keys
from gedp.numbers import counted
from gedp.passes import OnFile
from gedp.policy import COUNT
from gedp.progress import NextStep, silent
from gedp.release import ReleaseFolder

if TYPE_CHECKING:
    from gedp.microdata import Microdata
    from gedp.microdata.ratios import Ratio

MOST_NAMED = 5  # groups in a remark


@dataclass(repr=False)
class TableRequest:
    """A table as the options of the command describe it; remarks are collected while it is made."""

    keys: Sequence[str]
    attributes: Sequence[str]
    ratios: "Sequence[Ratio]"
    where: Mapping[str, Sequence[str]]
    agglvl: int | None
    names: Mapping[str, str]
    confidence: float | None
    options: Mapping[str, Any]  # of the fit
    reading: OnFile
    step: NextStep = silent
    remarks: list[str] = field(default_factory=list)

    def of_one(self, release: ReleaseFolder) -> pa.Table:
        """The table of a release."""
        microdata = self._fitted(release)
        if self.agglvl is not None:
            table = microdata.tabulate_qcew(self.agglvl, self.confidence, self.names).arrow
        else:
            table = microdata.tabulate(*self._asked).arrow
        if empty := [name for name in table.column_names if table[name].null_count == table.num_rows]:
            self.remarks.insert(0, f"Empty, because the release says nothing about them: {', '.join(empty)}.")
        if self.agglvl is not None and microdata.constraints.named:
            self.remarks.append("Errors are those of the fit without --nonnegative and --whole.")
        return table

    def of_two(self, new: ReleaseFolder, old: ReleaseFolder) -> pa.Table:
        """The table of a release with what changed since another, which has public totals of its own, if any."""
        fits = [self._fitted(new), self._fitted(old, fixed=())]
        table = fits[0].change(fits[1], *self._asked).arrow
        self._compared(table, {name for each in fits for name in each.attributes})
        return table

    def of_series(self, releases: Sequence[ReleaseFolder]) -> pa.Table:
        """The table of releases in their order."""
        there_are: set[str] = set()

        def fitted() -> "Iterator[Microdata]":
            for release in releases:
                microdata = self._fitted(release)
                there_are.update(microdata.attributes)
                yield microdata

        table = tabulate_series(fitted(), *self._asked).arrow
        self._compared(table, there_are)
        return table

    @property
    def _asked(self) -> tuple[Any, ...]:
        return self.keys, self.attributes or None, self.confidence, self.ratios, self.where

    def _fitted(self, release: ReleaseFolder, **other: Any) -> "Microdata":
        """The microdata of a release, as far as the table needs them; the table is what comes next."""
        self.step("fitting")
        manifest = release.manifest
        are_many = stay_on_file(manifest.spec, manifest.establishments, self.reading)
        counted = {COUNT} if manifest.spec.by_classes else set()  # which takes no fit of its own
        used = [*self.attributes, *(name for ratio in self.ratios for name in ratio.attributes)]
        needed = parts_of(manifest.spec, [name for name in used if name not in counted])
        if self.agglvl is None:
            rows = columns_alone(release) if are_many else read_public_rows(release)
            require_keys(rows, [*self.keys, *self.where])
        elif not are_many:
            needed = list(needed_attributes(release, self.agglvl, self.names) or ())
        wanted = list(dict.fromkeys(needed)) or None
        options = {**self.options, **other}
        microdata = find_microdata(release, attributes=wanted, on_file=self.reading, **options)
        self.remarks += [each for each in self._remarks(release, microdata) if each not in self.remarks]
        self.step("tabulating")
        return microdata

    def _remarks(self, release: ReleaseFolder, microdata: "Microdata") -> Iterator[str]:
        by_class = any(key in release.manifest.spec.classes for key in self.keys)
        keys = [*self.keys, *self.where]
        left = [name for name in microdata.attributes if not by_class and not microdata.allows(keys, name)]
        if left:
            yield f"Left out, because no answers determine them by these keys: {', '.join(left)}."
        for ratio in self.ratios:
            if combined := [name for name in ratio.attributes if name in release.manifest.spec.combinations]:
                yield f"In {ratio.name}, the fitted parts of {', '.join(combined)} are used, not answers of its own."
        if any(value is True for value in self.options.values()) and microdata.measured:
            yield f"Constraints do not change measured groups: {', '.join(microdata.measured)}."
        if is_on_file(release) and not microdata.is_on_file:
            yield "This table is not made from the microdata on file, which were fitted with other options."

    def _compared(self, table: pa.Table, there_are: set[str]) -> None:
        """Says what a comparison leaves out: attributes of some releases, groups of one, percentages without a base."""
        has = set(table["attribute"].to_pylist())
        if not self.attributes and not self.ratios and (left := sorted(there_are - has)):
            self.remarks.append(f"Left out, because not every release has them by these keys: {', '.join(left)}.")
        notes = table[NOTE].to_pylist()
        groups = list(zip(*(table[key].to_pylist() for key in self.keys), strict=True)) or [()] * len(notes)
        for note in dict.fromkeys(filter(None, notes)):
            found = [group for group, each in zip(groups, notes, strict=True) if each == note]
            self.remarks.append(f"{counted(len(found), 'line')}: {note}{_named(note, found)}.")


def _named(note: str, groups: Sequence[tuple[str, ...]]) -> str:
    """Which groups opened or closed, the first of them."""
    different = list(dict.fromkeys(" ".join(group) for group in groups))
    if note not in (NOT_AFTER, NOT_BEFORE) or not all(different):
        return ""
    return f" ({', '.join(different[:MOST_NAMED])}{', …' if len(different) > MOST_NAMED else ''})"
