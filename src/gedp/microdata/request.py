"""What a table is asked for: keys, figures, which establishments it is about, and the confidence of its intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gedp.microdata.cells import NO_FILTER, Where
from gedp.microdata.ratios import Ratio, parse_ratios


@dataclass(frozen=True)
class TableRequest:
    """A table by any grouping. Parameters of functions that make tables have the same names and meanings."""

    by: tuple[str, ...]
    attributes: tuple[str, ...] | None = None  # None: all that the grouping allows, or none where there are ratios
    confidence: float | None = None  # None: that of the spec
    ratios: tuple[Ratio, ...] = ()
    where: Where = field(default_factory=lambda: NO_FILTER)  # of every key, the codes that pass

    @classmethod
    def of(
        cls,
        by: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        confidence: float | None = None,
        ratios: Sequence[str | Ratio] = (),
        where: Where | None = None,
    ) -> "TableRequest":
        """The request in the words of users: one key or attribute by itself, ratios as formulas; all faults in one."""
        parsed = iter(parse_ratios([each for each in ratios if isinstance(each, str)]))
        written = tuple(next(parsed) if isinstance(each, str) else each.with_formula() for each in ratios)
        return cls(
            _each_once(by), None if attributes is None else _each_once(attributes), confidence, written, where or {}
        )

    @property
    def keys(self) -> list[str]:
        """The keys of the table, and those of its filter."""
        return [*self.by, *self.where]

    @property
    def takes_all(self) -> bool:
        """Whether the table is about whatever there is."""
        return self.attributes is None and not self.ratios

    @property
    def names(self) -> list[str] | None:
        """The figures that the table is made of; None where it takes those that there are."""
        used = (name for ratio in self.ratios for name in ratio.attributes)
        return None if self.takes_all else [*(self.attributes or ()), *used]


def _each_once(names: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([names] if isinstance(names, str) else names))
