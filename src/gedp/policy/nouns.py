"""What a record of the table and a unit of several records are called: `record` and `unit` under `[labels]`."""

import re
from dataclasses import dataclass

#: Between singular and plural.
BAR = "|"
#: Words that begin with the sound of a vowel, as far as their letters tell: an enterprise, but a unit and a European.
_VOWEL = re.compile(r"(?!eu|one\b|us[ei]|uni(?![nm]))[aeiou]", re.IGNORECASE)


@dataclass(frozen=True)
class Noun:
    """A noun in singular and plural.

    >>> Noun("local unit", "local units").a, Noun("establishment", "establishments").a
    ('a local unit', 'an establishment')
    """

    one: str
    many: str

    def __str__(self) -> str:
        return f"{self.one}{BAR}{self.many}"

    @property
    def a(self) -> str:
        """The singular after its article."""
        return f"{'an' if _VOWEL.match(self.one) else 'a'} {self.one}"

    @property
    def title(self) -> str:
        """The plural as a heading."""
        return self.many[:1].upper() + self.many[1:]


@dataclass(frozen=True)
class Nouns:
    """The nouns of a spec. A unit that is not named is called by its column, as everything without a label is."""

    record: Noun = Noun("establishment", "establishments")
    unit: Noun | None = None

    def whose(self, column: str | None) -> tuple[str, str]:
        """Whose values are hidden, and the pronoun for it: a record's, or those of all records of a unit."""
        if column is None:
            return self.record.a, "its"
        return f"all records of one {column if self.unit is None else self.unit.one}", "their"


#: Where a spec names nothing.
AS_USUAL = Nouns()
