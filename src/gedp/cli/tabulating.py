"""What `gedp tabulate` was asked for, fitted release by release, and what is to be said about the result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gedp.microdata.cells import columns_alone, read_public_rows
from gedp.microdata.combinations import parts_of
from gedp.microdata.comparing import NOT_AFTER, NOT_BEFORE, NOTE, change
from gedp.microdata.kinds import stay_on_file
from gedp.microdata.on_file import find_microdata, is_on_file
from gedp.microdata.qcew import needed_attributes, tabulate_qcew
from gedp.microdata.request import TableRequest
from gedp.microdata.series_table import series
from gedp.microdata.tabulate import require_keys, tabulate
from gedp.numbers import counted
from gedp.passes import OnFile
from gedp.policy import COUNT
from gedp.progress import NextStep, silent
from gedp.release import ReleaseFolder

if TYPE_CHECKING:
    from gedp.microdata import Microdata

MOST_NAMED = 5  # groups in a remark


@dataclass(repr=False)
class Tabulation:
    """A table as the options of the command describe it; remarks are collected while it is made."""

    request: TableRequest
    agglvl: int | None
    names: Mapping[str, str]
    options: Mapping[str, Any]  # of the fit
    reading: OnFile
    step: NextStep = silent
    remarks: list[str] = field(default_factory=list)

    def of_one(self, release: ReleaseFolder) -> pa.Table:
        """The table of a release."""
        microdata = self._fitted(release)
        if self.agglvl is not None:
            table = tabulate_qcew(microdata, self.agglvl, self.request.confidence, self.names)
        else:
            table = tabulate(microdata, self.request)
        if empty := [name for name in table.column_names if table[name].null_count == table.num_rows]:
            self.remarks.insert(0, f"Empty, because the release says nothing about them: {', '.join(empty)}.")
        if self.agglvl is not None and microdata.constraints.named:
            self.remarks.append("Errors are those of the fit without --nonnegative and --whole.")
        return table

    def of_two(self, new: ReleaseFolder, old: ReleaseFolder) -> pa.Table:
        """The table of a release with what changed since another, which has public totals of its own, if any."""
        fits = [self._fitted(new), self._fitted(old, fixed=())]
        table = change(fits[0], fits[1], self.request)
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

        table = series(fitted(), self.request).arrow
        self._compared(table, there_are)
        return table

    def _fitted(self, release: ReleaseFolder, **other: Any) -> "Microdata":
        """The microdata of a release, as far as the table needs them; the table is what comes next."""
        self.step("fitting")
        manifest = release.manifest
        are_many = stay_on_file(manifest.spec, manifest.establishments, self.reading)
        counted = {COUNT} if manifest.spec.by_classes else set()  # which takes no fit of its own
        needed = parts_of(manifest.spec, [name for name in self.request.names or () if name not in counted])
        rows = None if are_many else read_public_rows(release)
        if self.agglvl is None:
            require_keys(rows or columns_alone(release), self.request.keys)
        elif rows is not None:
            needed = list(needed_attributes(rows, self.agglvl, self.names) or ())
        wanted = list(dict.fromkeys(needed)) or None
        options = {**self.options, **other, "on_file": self.reading, "public_rows": rows}
        microdata = find_microdata(release, attributes=wanted, **options)
        self.remarks += [each for each in self._remarks(release, microdata) if each not in self.remarks]
        self.step("tabulating")
        return microdata

    def _remarks(self, release: ReleaseFolder, microdata: "Microdata") -> Iterator[str]:
        by_class = any(key in release.manifest.spec.classes for key in self.request.by)
        keys = self.request.keys
        left = [name for name in microdata.attributes if not by_class and not microdata.allows(keys, name)]
        if left:
            yield f"Left out, because no answers determine them by these keys: {', '.join(left)}."
        for ratio in self.request.ratios:
            if combined := [name for name in ratio.attributes if name in release.manifest.spec.combinations]:
                yield f"In {ratio.name}, the fitted parts of {', '.join(combined)} are used, not answers of its own."
        if any(value is True for value in self.options.values()) and microdata.measured:
            yield f"Constraints do not change measured groups: {', '.join(microdata.measured)}."
        if is_on_file(release) and not microdata.is_on_file:
            yield "This table is not made from the microdata on file, which were fitted with other options."

    def _compared(self, table: pa.Table, there_are: set[str]) -> None:
        """Says what a comparison leaves out: attributes of some releases, groups of one, percentages without a base."""
        has = set(table["attribute"].to_pylist())
        if self.request.takes_all and (left := sorted(there_are - has)):
            self.remarks.append(f"Left out, because not every release has them by these keys: {', '.join(left)}.")
        notes = table[NOTE].to_pylist()
        groups = list(zip(*(table[key].to_pylist() for key in self.request.by), strict=True)) or [()] * len(notes)
        for note in dict.fromkeys(filter(None, notes)):
            found = [group for group, each in zip(groups, notes, strict=True) if each == note]
            self.remarks.append(f"{counted(len(found), 'line')}: {note}{_named(note, found)}.")


def _named(note: str, groups: Sequence[tuple[str, ...]]) -> str:
    """Which groups opened or closed, the first of them."""
    different = list(dict.fromkeys(" ".join(group) for group in groups))
    if note not in (NOT_AFTER, NOT_BEFORE) or not all(different):
        return ""
    return f" ({', '.join(different[:MOST_NAMED])}{', …' if len(different) > MOST_NAMED else ''})"
