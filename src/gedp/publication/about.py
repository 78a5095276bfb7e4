"""What a package says about itself: its description for programs, a data dictionary, and a README for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gedp._version import __version__
from gedp.explain.released import released_promise
from gedp.explain.wording import combined_sentences, missing_sentences
from gedp.microdata import Microdata
from gedp.microdata.answers import class_names
from gedp.numbers import counted
from gedp.policy import COUNT
from gedp.publication.changes import FLAGS, Changes
from gedp.publication.figures import ROUNDINGS, Presentation, TableOfFigures
from gedp.publication.markdown import plain
from gedp.release import Labels, ReleaseFolder
from gedp.release.estimated import FORMULA
from gedp.release.notices import SEEDED, SYNTHETIC
from gedp.report.check import CHECK_SIGNATURE, KEY, citation, manifest_sha256, title_of_release
from gedp.report.strength import example, titled_groups

FORMAT = 1
MEANINGS = {
    "attribute": "what the line is about; the dictionary lists titles and units",
    FORMULA: "how the figure is computed of attributes; empty for an attribute",
    "establishments": "number of establishments in the group; empty where the release lists none, and by classes",
    "estimate": "the figure: the total that fits all answers of the release best, or a ratio of such totals",
    "std_error": "its standard error: the typical size of the noise in it",
    "cv": "coefficient of variation: the standard error divided by the figure",
    "ci_low": "lower end of its confidence interval",
    "ci_high": "upper end of its confidence interval",
    "quality": "quality class of the figure, from its coefficient of variation; empty for a difference and for a "
    "figure of both signs; for a change, whether it is significant",
    "variance_kind": "whether the error is exact, or estimated at the fitted values",
}
DIFFERENCES = (
    "A difference, or a figure of both signs, has no quality class, since it may well be 0: judge it by its interval."
)
FITTED_NUMBERS = (
    "Numbers of establishments by classes carry noise like all other figures, so they can have fractions or be below 0."
)
DO_NOT = (
    "Do not take differences between this publication and others of the same data for changes: both carry noise.",
    "Do not rank or compare groups whose intervals overlap as if they differed.",
    "Do not take a figure of 0 or below for a true 0: small figures can be noise.",
    "Do not take the figure of a small group for the true value of an establishment in it: it carries noise, as large "
    "as its standard error says.",
    "Do not add up rounded figures where a total is published: take the total, which has a smaller error.",
)


@dataclass(frozen=True, repr=False)
class About:
    """A publication: what it is made of, and how it is shown."""

    microdata: Microdata
    labels: Labels
    shown: Presentation
    tables: Sequence[TableOfFigures]
    formulas: Mapping[str, str] = field(default_factory=dict)  # of ratios
    changes: Changes | None = None  # since an earlier release

    @property
    def title(self) -> str:
        """What people call it."""
        return title_of_release(self.microdata.release)

    @property
    def confidence(self) -> float:
        """Of its intervals."""
        return self.shown.confidence or float(self.labels.spec.output.confidence)

    @property
    def attributes(self) -> list[str]:
        """Attributes and ratios of any table, each once."""
        return list(dict.fromkeys(name for table in self.tables for name in table.chosen.lines))

    @property
    def keys(self) -> list[str]:
        """The columns and groupings that tables are by, each once."""
        return list(dict.fromkeys(key for table in self.tables for key in table.chosen.by))

    def citation(self) -> str:
        """How to refer to it."""
        return citation(self.title, self.microdata.release)

    @property
    def flags(self) -> dict[str, str]:
        """What every value of the column of quality says."""
        return {**self.shown.quality.meanings(), **({} if self.changes is None else FLAGS)}

    def warnings(self) -> list[str]:
        """What must be read first."""
        manifest = self.microdata.release.manifest
        earlier = self.changes is not None and self.changes.old.release.manifest.is_seeded
        return [SEEDED] * (manifest.is_seeded or earlier) + [SYNTHETIC] * manifest.spec.data.synthetic

    def notes(self) -> list[str]:
        """How the figures were made and what they mean, one sentence or two each."""
        quality = self.shown.quality
        classes = "; ".join(f"{name}: {meaning}" for name, meaning in quality.meanings().items())
        said = [
            *self.warnings(),
            "Every figure carries random noise that protects the establishments behind it. Figures of all tables were "
            "fitted to all noisy answers together, so they agree with each other.",
            ROUNDINGS[self.shown.rounding],
            f"The intervals are {100 * self.confidence:g}% confidence intervals: of a hundred, about "
            f"{100 * self.confidence:g} contain what the confidential table would give.",
            *missing_sentences(self.labels),
            f"Quality classes: {classes}.",
        ]
        said += [
            f"One table, “{table.chosen.title}”, has the figures of several: {'; '.join(table.chosen.merged)}."
            for table in self.tables
            if table.chosen.merged
        ]
        if any(table.arrow["quality"].null_count for table in self.tables):
            said.append(DIFFERENCES)
        if quality.withheld_above is not None:
            said.append(
                f"Figures with a coefficient of variation above {100 * quality.withheld_above:g}% are left empty, "
                "and so are ratios without an error. They are too uncertain to use; this protects nobody, since the "
                "noise already does."
            )
        if self._has_fractions_of_establishments:
            said.append(FITTED_NUMBERS)
        return [*said, *self._about_combinations(), *self._about_changes(), *self._promise()]

    @property
    def _has_fractions_of_establishments(self) -> bool:
        return self.shown.rounding != "whole" and COUNT in self.attributes

    @property
    def combinations(self) -> dict[str, str]:
        """The formulas of the combinations that any table has."""
        known = self.labels.spec.combinations
        return {name: known[name].formula for name in self.attributes if name in known}

    def _about_combinations(self) -> list[str]:
        """What is different about combinations."""
        if not (combined := self.combinations):
            return []
        rounded = " They are rounded to what their errors support." if self.shown.rounding == "whole" else ""
        ratios = {ratio.name: ratio for table in self.tables for ratio in table.chosen.ratios}
        of_parts = [name for name, ratio in ratios.items() if combined.keys() & set(ratio.attributes)]
        taken = f" In {', '.join(of_parts)}, the formula is used alone." if of_parts else ""
        return [f"{said}{rounded}{taken}" for said in combined_sentences(self.labels)]

    def _about_changes(self) -> list[str]:
        """What changes are, and how not to read them."""
        if self.changes is None:
            return []
        old, level = self.changes.old.release, f"{100 * (1 - self.confidence):g}"
        without = f"These tables have none: {'; '.join(self.changes.left_out)}." if self.changes.left_out else ""
        return [
            f"Changes are since {self.changes.since}: {citation(title_of_release(old), old)}. The noise of both "
            f"releases was drawn separately, so the errors of changes allow for both. {without}".rstrip(),
            f"A change is flagged as significant if 0 is outside its interval. Of changes that are none, about {level} "
            "in a hundred are flagged by chance. There is no percentage where the earlier figure is not clearly above "
            "0, and no change where one of the two figures is withheld.",
        ]

    def _promise(self) -> list[str]:
        """What is promised to establishments, in words."""
        return [*map(example, titled_groups(self.labels)), *released_promise(self.microdata.release.manifest)]

    def described(self, files: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """The package for programs; `files` has those of every table, by format."""
        manifest, labels = self.microdata.release.manifest, self.labels
        missing = labels.spec.missing
        return {
            "format": FORMAT,
            "gedp": __version__,
            "title": self.title,
            **{key: text for key, text in labels.spec.publication.given().items() if key != "title"},
            "citation": self.citation(),
            "release": {
                "name": manifest.release,
                "created": manifest.created.isoformat(timespec="seconds"),
                "manifest_sha256": manifest_sha256(self.microdata.release),
                "mu": manifest.prices.total.mu,
                "is_seeded": manifest.is_seeded,
                "is_synthetic": manifest.spec.data.synthetic,
                "establishments": manifest.establishments,
            },
            **({} if self.changes is None else {"against": self._against(self.changes.old.release)}),
            "confidence": self.confidence,
            "rounding": self.shown.rounding,
            "quality": self.flags,
            "withheld_above": self.shown.quality.withheld_above,
            "attributes": {name: {"title": labels.title(name), "unit": labels.unit(name)} for name in self.attributes},
            **({"missing": {column: float(number) for column, number in missing.items()}} if missing else {}),
            "ratios": dict(self.formulas),
            **({"combinations": combined} if (combined := self.combinations) else {}),
            "keys": {key: labels.title(key) for key in self.keys},
            "classes": {key: names for key in self.keys if (names := class_names(labels.spec, key))},
            "tables": [
                {
                    "name": table.chosen.name,
                    "title": table.chosen.title,
                    "by": list(table.chosen.by),
                    "attributes": list(table.chosen.lines),
                    "groups": table.groups,
                    "files": dict(files[table.chosen.name]),
                }
                for table in self.tables
            ],
            "notes": self.notes(),
        }

    def _against(self, old: ReleaseFolder) -> dict[str, Any]:
        manifest = old.manifest
        return {
            "name": manifest.release,
            "created": manifest.created.isoformat(timespec="seconds"),
            "manifest_sha256": manifest_sha256(old),
            "mu": manifest.prices.total.mu,
        }

    def dictionary(self) -> list[list[str]]:
        """Every column and attribute: name, what it is, title, unit, meaning."""
        labels, rows = self.labels, [["name", "what", "title", "unit", "meaning"]]
        named = {table.names[key]: key for table in self.tables for key in table.names}
        rows += [[key, "column", labels.title(key), "", "codes of the groups"] for key in self.keys]
        rows += [
            [name, "column", f"{labels.title(key)}, name", "", f"what people call the code in {key}"]
            for name, key in named.items()
        ]
        columns = {name: text for name, text in MEANINGS.items() if self.formulas or name != FORMULA}
        rows += [[name, "column", "", "", meaning] for name, meaning in columns.items()]
        rows += [[name, *self._meaning(name, labels.title(name), labels.unit(name) or "")] for name in self.attributes]
        rows += [
            [name, "quality class", "", "", f"a value of column quality: {meaning}"]
            for name, meaning in self.flags.items()
        ]
        return rows

    def _meaning(self, name: str, title: str, unit: str) -> list[str]:
        """What a value of column attribute is, besides its name."""
        value = "a value of column attribute"
        if self.changes is not None and name in self.changes.meanings:
            return ["change", title, unit, f"{value}: {self.changes.meanings[name]}"]
        if name in self.formulas:
            return ["ratio", title, unit, f"{value}: {self.formulas[name]}"]
        if name in self.combinations:
            return ["combination", title, unit, f"{value}: {self.combinations[name]}"]
        return ["attribute", title, unit, value]

    def readme(self, listed: Sequence[tuple[str, str]], is_signed: bool) -> str:
        """The README, with what every file is."""
        said = self.labels.spec.publication
        tables = [f"{each.chosen.title}: {counted(each.groups, 'group')} ({each.chosen.file})" for each in self.tables]
        files = [f"- `{name}`: {what}" for name, what in listed]
        check = ["With the files: `sha256sum --check SHA256SUMS`."]
        if is_signed:
            check.append(
                f"Who made them, with the publisher's public key beside this folder: `gedp verify . --key {KEY}`,"
            )
            check.append(f"or without gedp `{CHECK_SIGNATURE}`.")
        about = [f"Published by {said.publisher}." * (said.publisher is not None)]
        about += [f"Contact: {said.contact}." * (said.contact is not None)]
        about += [f"Licence: {said.licence}." * (said.licence is not None)]
        parts = [
            f"# {plain(self.title)}",
            plain(" ".join(filter(None, about))),
            "## The tables",
            _bullets(tables),
            "## What the figures are",
            _bullets(self.notes()),
            "## What not to do",
            _bullets(DO_NOT),
            "## Files",
            "\n".join(files),
            "## Check and cite",
            " ".join(check),
            f"Cite as: {plain(self.citation())}",
        ]
        return "\n\n".join(filter(None, parts)) + "\n"


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {plain(text)}" for text in texts)
