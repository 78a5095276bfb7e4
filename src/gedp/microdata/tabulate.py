"""Tables of any grouping from the microdata, with errors from the covariance of the fit."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute

from gedp.errors import DomainError, Fault, FaultsError
from gedp.estimates import Estimates, Figures, table_columns
from gedp.microdata.agreement import GroupTotals
from gedp.microdata.cells import PublicRows, Where, columns_alone
from gedp.microdata.class_tables import asked_by_class, class_totals, has_classes, possible_by_class, require_class_keys
from gedp.microdata.combinations import combination_totals, figures_of, over_attributes, parts_of, with_split_columns
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.keys import unknown_codes
from gedp.microdata.naming import require_own_names
from gedp.microdata.ratios import Ratio, estimate, in_parts
from gedp.microdata.request import TableRequest
from gedp.microdata.row_totals import totals_of_rows
from gedp.partitions import Partition
from gedp.release import ProtectedAnswers
from gedp.release.estimated import FORMULA


def tabulate(microdata: MicrodataFit, request: TableRequest) -> pa.Table:
    """Estimate, standard error, coefficient of variation and confidence interval for every group that occurs.

    `where` has keys and the codes that are let pass, such as {"cnty": ["001", "003"]}; groups are then made of these.

    Without `attributes` there are all figures that this grouping can be made for, or none where there are ratios. An
    attribute that was split has a line for gain, one for loss, and under its own name one for the difference.
    Combinations that a query asks for have lines after all attributes. Ratios have their formula in a column of its
    own, and names that nothing else in the release looks like. Where the microdata have values of the rows it can be
    any grouping, else one whose groups are made of measured groups; the others are refused.

    `variance_kind` says whether the errors are exact, estimated (some variance depends on the truth, and was taken at
    the fitted value), delta (approximate, for a ratio), unconstrained (values were bounded or rounded, and the errors
    are those from before), or unknown: then there are none, since cells were divided by public weights or the
    denominator of a ratio is not clearly different from 0.
    """
    by, where = request.by, request.where
    require_keys(microdata.public_rows, request.keys)
    asked = _asked(microdata, request)
    confidence = microdata.confidence(request.confidence)
    if has_classes(microdata.public_rows.spec, request.keys):
        return _by_classes(microdata, by, asked, confidence, where)
    needed = _needed(microdata, asked)
    if refused := [name for name in needed if not microdata.allows(request.keys, name)]:
        raise _not_determined(microdata, request.keys, refused)
    keys, totals = _grouped(microdata, by, needed, (_public_totals(microdata, by, name, where) for name in needed))
    public_rows = microdata.public_rows
    for name in (name for name in _names(asked) if name in public_rows.spec.combinations):
        totals[name] = combination_totals(public_rows, name, public_rows.cells(by, where), totals)
    return _lines(asked, keys, totals, confidence)


def _by_classes(
    microdata: MicrodataFit, by: Sequence[str], asked: Sequence[Ratio], confidence: float, where: Where
) -> pa.Table:
    """A table by classes; a filter takes lines of it, and adds up none: their errors would be another fit's."""
    others, names = [key for key in where if key not in by], _names(asked)
    if several := [key for key in others if len(where[key]) > 1]:
        problem = f"several codes of {', '.join(several)} would be added up, which a table by classes does not do"
        fault = Fault("where", problem, "Let one code pass, or group by the key too")
        raise FaultsError(microdata.public_rows.source.name, [fault])
    keys, totals = _grouped(microdata, [*by, *others], names, class_totals(microdata, [*by, *others], names))
    lines = _lines(asked, keys, totals, confidence)
    there = {key: lines[key].unique().to_pylist() for key in where}
    faults = [fault for key, codes in where.items() for fault in unknown_codes(key, codes, there[key])]
    if faults:
        raise FaultsError(microdata.public_rows.source.name, faults)
    for key, codes in where.items():
        lines = lines.filter(pa.compute.is_in(lines[key], value_set=pa.array(list(codes), pa.string())))
    return lines.drop_columns(others)


def _lines(
    asked: Sequence[Ratio], keys: Mapping[str, pa.Array], totals: Mapping[str, Estimates], confidence: float
) -> pa.Table:
    """Every ratio for every group; with the formulas of those that are computed, if there are any."""
    parts = []
    for ratio in asked:
        found = estimate(ratio, totals, confidence)
        texts = {"attribute": ratio.name, FORMULA: ratio.formula or None}
        named = {name: pa.array([text] * len(found.estimate), pa.string()) for name, text in texts.items()}
        parts.append(pa.table({**keys, **named, **table_columns(found)}))
    lines = pa.concat_tables(parts)
    return lines if any(ratio.formula for ratio in asked) else lines.drop_columns([FORMULA])


def possible_lines(microdata: MicrodataFit, by: Sequence[str]) -> list[str]:
    """The figures that a grouping can be made for: attributes, a split one after both of its parts, and combinations.

    With classes, the number of establishments is one of them, and no combination is.
    """
    spec = microdata.public_rows.spec
    if has_classes(spec, by):
        return with_split_columns(possible_by_class(microdata, by), spec)
    return figures_of([name for name in microdata.attributes if microdata.allows(by, name)], spec)


def require_keys(public_rows: PublicRows, by: Sequence[str]) -> None:
    """Rejects names that are not public columns or groupings, all in one error; what they allow is seen later."""
    if has_classes(public_rows.spec, by):
        require_class_keys(public_rows if public_rows.has_rows else columns_alone(public_rows.source), by)
        return
    if public_rows.has_rows:
        public_rows.keys(by)
        return
    whole = columns_alone(public_rows.source)
    faults = [whole.unknown(name) for name in by if not whole.knows(name)]
    if faults:
        raise FaultsError(public_rows.source.name, faults)


def known_keys(source: ProtectedAnswers) -> Callable[[str], bool]:
    """What says whether a filter can be about a name: a public column, a grouping, or classes."""
    columns, classes = columns_alone(source), source.manifest.spec.classes
    return lambda name: name in classes or columns.knows(name)


def parse_where(texts: Sequence[str], knows: Callable[[str], bool]) -> dict[str, list[str]]:
    """A filter from texts such as `cnty=001`, one for each code that passes; every fault in one error.

    A name may have = in it, if `knows` knows it.
    """
    where, faults = dict[str, list[str]](), []
    for text in texts:
        place = next((at for at, sign in enumerate(text) if sign == "=" and knows(text[:at])), None)
        if place is not None:
            where.setdefault(text[:place], []).append(text[place + 1 :])
        else:
            hint = "Write KEY=CODE, with a public column or grouping as KEY"
            faults.append(Fault(f"where {text!r}", "it does not begin with the name of a key and =", hint))
    if faults:
        raise FaultsError("filter", faults)
    return {name: list(dict.fromkeys(codes)) for name, codes in where.items()}


def _asked(microdata: MicrodataFit, request: TableRequest) -> list[Ratio]:
    """The lines of the table, attributes first."""
    wanted: Sequence[str] = request.attributes or ()
    spec, by = microdata.public_rows.spec, request.keys
    if request.takes_all:
        asked_for = asked_by_class(spec, by) if has_classes(spec, by) else microdata.attributes
        wanted = possible_lines(microdata, by) or asked_for  # none: all are refused below
    plain = [Ratio(name, {name: 1.0}) for name in wanted]
    require_own_names(request.ratios, spec)
    asked = [in_parts(ratio, spec.policy.split_columns) for ratio in plain] + [
        over_attributes(ratio, spec) for ratio in request.ratios
    ]
    if not asked:
        raise DomainError("there is no attribute or ratio to make a table of")
    return asked


def _grouped(
    microdata: MicrodataFit, by: Sequence[str], names: Sequence[str], tables: Iterable[GroupTotals]
) -> tuple[dict[str, pa.Array], dict[str, Estimates]]:
    """The keys of every group, and the totals of everything asked in the same order."""
    keys, totals = dict[str, pa.Array](), dict[str, Estimates]()
    for name, table in zip(names, tables, strict=True):
        keys = keys or {key: table.public_rows.texts(key, table.groups) for key in by}
        totals[name] = table.totals
        if any(len(table.totals.estimate) != len(texts) for texts in keys.values()):
            problem = Fault("tables", f"they do not have the same groups by {_named(by)}", "Get a fresh copy")
            raise FaultsError(microdata.public_rows.source.name, [problem])
    return keys, totals


def _public_totals(microdata: MicrodataFit, by: Sequence[str], name: str, where: Where) -> GroupTotals:
    """The totals of an attribute by public keys, from its rows, or else from what was measured."""
    if name in microdata.measured:
        return microdata.measured[name].table(by, where)
    groups = microdata.public_rows.cells(by, where)
    return GroupTotals(microdata.public_rows, groups, totals_of_rows(microdata, name, groups))


def _not_determined(microdata: MicrodataFit, by: Sequence[str], names: Sequence[str]) -> FaultsError:
    """Says which tables can be made instead."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(", ".join(microdata.measured[name].groupings()), []).append(name)
    faults = []
    for measured, of in alike.items():
        hint = (
            f"Tables can be made by {measured}, and by what these add up to; a query by establishment would allow any"
        )
        faults.append(Fault("by", f"no answers determine {', '.join(of)} by {_named(by)}", hint))
    return FaultsError(microdata.public_rows.source.name, faults)


def _named(by: Sequence[str]) -> str:
    return " x ".join(by) or "the total"


def estimate_groups(
    microdata: MicrodataFit, groups: Partition, ratios: Sequence[Ratio], confidence: float | None = None
) -> list[Figures]:
    """Each ratio for every group of rows."""
    confidence = microdata.confidence(confidence)
    needed = _needed(microdata, ratios)
    if without := [name for name in needed if name in microdata.measured]:
        problem = f"{', '.join(without)}: the answers determine no rows to add up, only tables of measured groups"
        raise FaultsError(
            microdata.public_rows.source.name, [Fault("attribute", problem, "Tabulate by such a grouping")]
        )
    totals = {name: totals_of_rows(microdata, name, groups) for name in needed}
    return [estimate(ratio, totals, confidence) for ratio in ratios]


def _names(ratios: Sequence[Ratio]) -> list[str]:
    return list(dict.fromkeys(name for ratio in ratios for name in ratio.attributes))


def _needed(microdata: MicrodataFit, ratios: Sequence[Ratio]) -> list[str]:
    """The attributes in some ratios, each once."""
    needed = parts_of(microdata.public_rows.spec, _names(ratios))
    unknown = [name for name in needed if name not in microdata.attributes]
    if unknown:
        there = f"There are: {', '.join(microdata.attributes)}"
        fault = Fault("attribute", f"not fitted: {', '.join(unknown)}", there)
        raise FaultsError(microdata.public_rows.source.name, [fault])
    return needed
