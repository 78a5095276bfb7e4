"""What a table is asked for by, read from the address of a request; every fault is named."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from gedp.errors import Fault, FaultsError
from gedp.microdata.tabulate import parse_where

MOST_FIELDS = 400  # of an address
MOST_LINES = 500  # at a time
LABEL = "label"  # to sort by the rows themselves


@dataclass(frozen=True)
class Question:
    """Groups, figures and filter of a table, whatever part of it is looked at."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    ratios: tuple[str, ...] = ()
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    confidence: float | None = None
    is_change: bool = False  # whether it is also about what changed since an earlier release

    @property
    def by(self) -> list[str]:
        """All keys, each once."""
        return list(dict.fromkeys((*self.rows, *self.columns)))

    @property
    def filter(self) -> dict[str, list[str]]:
        """Of every key in the filter, the codes that pass."""
        return {key: list(codes) for key, codes in self.where}


@dataclass(frozen=True)
class ShownLines:
    """Which lines of a table are looked at, in which order."""

    sort: int | None = None  # a column of figures; None: the rows themselves
    descending: bool = False
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True)
class Parameter:
    """A parameter of the API, as it is read and as it is described."""

    name: str
    meaning: str
    kind: str = "string"
    most: int = 1  # how often it may be given
    lowest: float | None = None
    highest: float | None = None
    default: str | int | bool | None = None
    choices: tuple[str, ...] = ()  # the only values, if they are few

    @property
    def schema(self) -> dict[str, Any]:
        """Its values, as OpenAPI describes them."""
        limits = {"minimum": self.lowest, "maximum": self.highest, "default": self.default}
        known = {name: value for name, value in limits.items() if value is not None}
        one = {"type": self.kind, **known, **({"enum": list(self.choices)} if self.choices else {})}
        return {"type": "array", "items": one, "maxItems": self.most} if self.most > 1 else one


TABLE = (
    Parameter("rows", "A public column or grouping whose groups are rows. Several are combined.", most=3),
    Parameter("columns", "A public column or grouping whose groups are columns."),
    Parameter("attribute", "An attribute; without any, and without ratios, all that can be had.", most=20),
    Parameter("ratio", "A ratio by name, such as weekly-wage, or NAME=FORMULA.", most=10),
    Parameter("where", "A filter KEY=CODE. Several codes of one key are taken together.", most=200),
    Parameter("confidence", "Confidence of the intervals. Default: that of the release.", "number", 1, 0.01, 0.9999),
)
FIGURES, CHANGE = "figures", "change"
#: Beside those of a table, where there is an earlier release.
SHOW = Parameter(
    "show", "Figures alone, or also their change since the earlier release.", default=FIGURES, choices=(FIGURES, CHANGE)
)
PART = (
    Parameter("sort", f"{LABEL!r}, or the number of a column of figures, from 0.", default=LABEL),
    Parameter("descending", "Whether the largest comes first.", "boolean", default=False),
    Parameter("offset", "How many lines are left out before the first.", "integer", 1, 0, 10_000_000, 0),
    Parameter("limit", "How many lines there are at most.", "integer", 1, 1, MOST_LINES, 100),
)
CODES = (
    Parameter("key", "A public column or grouping."),
    Parameter("search", "Text that the code or its name has to contain.", default=""),
    Parameter("limit", "How many codes there are at most.", "integer", 1, 1, MOST_LINES, 100),
)
LEVELS = (
    Parameter("dimension", "A dimension of the release: keys from coarse to fine."),
    Parameter("attribute", "The attribute."),
)


class GivenParameters:
    """The parameters of an address: only known ones, none too often, every value of its kind."""

    def __init__(self, address: str, known: Sequence[Parameter]) -> None:
        self._faults: list[Fault] = []
        self._given: dict[str, list[str]] = {}
        named = {parameter.name: parameter for parameter in known}
        for name, text in self._fields(address):
            if name not in named:
                self._fault(name[:40], "there is no such parameter", f"There are: {', '.join(named)}")
            else:
                self._given.setdefault(name, []).append(text)
        for name, texts in self._given.items():
            if len(texts) > named[name].most:
                self._fault(name, f"it is given {len(texts)} times", f"Give it at most {named[name].most} times")
            if (choices := named[name].choices) and texts[0] not in choices:
                self._fault(name, f"{texts[0][:40]!r} is nothing to choose", f"Give one of: {', '.join(choices)}")
        self._numbers = {name: self._number(named[name]) for name in named if named[name].kind in ("integer", "number")}
        self._finish()

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of a parameter, each once."""
        return tuple(dict.fromkeys(self._given.get(name, ())))

    def text(self, name: str, default: str = "") -> str:
        """The value of a parameter that is given once."""
        return self._given.get(name, [default])[0]

    def number(self, name: str) -> float | None:
        """The value of a parameter that is a number."""
        return self._numbers[name]

    def whole(self, name: str) -> int:
        """The value of a parameter that is a whole number and has a default."""
        return int(self._numbers[name] or 0)

    def _fields(self, address: str) -> list[tuple[str, str]]:
        try:
            return parse_qsl(address, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            self._fault("address", f"it has more than {MOST_FIELDS} parameters", "Ask for less at a time")
            return []

    def _number(self, parameter: Parameter) -> float | None:
        text = self.text(parameter.name, "" if parameter.default is None else str(parameter.default))
        if not text and parameter.name not in self._given:
            return None
        try:
            number = int(text) if parameter.kind == "integer" and len(text) < 20 else float(text)
        except ValueError:
            number = float("nan")
        low, high = parameter.lowest or 0, parameter.highest or float("inf")
        if not low <= number <= high or (parameter.kind == "integer" and number != int(number)):
            self._fault(parameter.name, f"{text[:40]!r} is not such a number", f"Give one from {low:g} to {high:g}")
            return None
        return number

    def _fault(self, place: str, problem: str, suggestion: str) -> None:
        self._faults.append(Fault(place, problem, suggestion))

    def _finish(self) -> None:
        if self._faults:
            raise FaultsError("request", self._faults)


def read_question(request: GivenParameters, knows: Callable[[str], bool]) -> Question:
    """The table that is asked for; `knows` says which keys there are."""
    where = parse_where(request.texts("where"), knows)
    return Question(
        request.texts("rows"),
        request.texts("columns"),
        request.texts("attribute"),
        request.texts("ratio"),
        tuple((key, tuple(codes)) for key, codes in sorted(where.items())),
        request.number("confidence"),
        request.text("show") == CHANGE,
    )


def read_part(request: GivenParameters) -> ShownLines:
    """The lines that are asked for."""
    sort, descending = request.text("sort", LABEL), request.text("descending", "false")
    faults = []
    if sort != LABEL and not (sort.isascii() and sort.isdigit() and len(sort) < 4):
        faults.append(Fault("sort", f"{sort[:40]!r} is no column", f"Give {LABEL}, or the number of a column"))
    if descending not in ("true", "false"):
        faults.append(Fault("descending", f"{descending[:40]!r} is neither true nor false", "Give one of these"))
    if faults:
        raise FaultsError("request", faults)
    place = None if sort == LABEL else int(sort)
    return ShownLines(place, descending == "true", request.whole("offset"), request.whole("limit"))
