"""What a formula may be called: nothing that looks like the name or title of something else.

A table of a formula has official figures beside it, and links to a desk bring formulas of strangers. So a name counts
as taken if it differs in nothing but case, spaces, punctuation or signs that are not seen.
"""

from collections.abc import Iterator, Sequence

from gedp.errors import Fault, FaultsError
from gedp.estimates import figure_columns
from gedp.known_codes import TREE_OF_LEVEL
from gedp.microdata.ratios import BUILT_IN, BUILT_IN_TITLES, Ratio
from gedp.policy import COUNT, Spec
from gedp.policy.model import OWN_SUFFIXES, TABLE_COLUMNS
from gedp.policy.names import folded
from gedp.policy.values import ESTABLISHMENT
from gedp.release import Labels

#: Columns of tables besides those of a release: of packages, of changes and of series.
COLUMNS = (*TABLE_COLUMNS, "quality", "significant", "note", "period")
CHANGED = ("old", "change", "percent")  # figures beside those of a release
#: What is said of a figure, before or after its name.
OF_CHANGES = ("{} change", "{} percent change", "{} change in percent", "change in {}")
_FILLERS = "\u115f\u1160"  # letters that are not seen


def looks(name: str) -> str:
    """The same text for names that look alike.

    >>> looks("Std. Error"), looks("ＪＯＢＳ"), looks("jobs 2")
    ('stderror', 'jobs', 'jobs2')
    """
    plain = folded(name)
    return "".join(sign for sign in plain if sign.isalnum() and sign not in _FILLERS) or plain


def require_own_names(ratios: Sequence[Ratio], spec: Spec) -> None:
    """Rejects formulas that are called like something of the release, or like each other; every fault in one error."""
    if not ratios:
        return
    of_release, ours = {looks(name) for name in _names(spec)}, {looks(name) for name in _our_names()}
    public, before = {looks(name) for name in spec.data.public}, set[str]()
    faults = []
    for ratio in ratios:
        seen = looks(ratio.name)
        is_prefix = seen.rstrip("0123456789") in public  # as naics3 is
        if seen in of_release or is_prefix or (seen in ours and not ratio.is_built_in):
            problem = "it looks like the name of something official: an attribute, a key, a column, or a title of one"
            faults.append(Fault(f"ratio {ratio.name!r}", problem, "Choose another name for the formula"))
        elif seen in before:
            problem = "more than one line would be called so"
            faults.append(Fault(f"ratio {ratio.name!r}", problem, "Choose names that differ in letters or digits"))
        before.add(seen)
    if faults:
        raise FaultsError("ratios", faults)


def _names(spec: Spec) -> Iterator[str]:
    """What a release and its pages call attributes, keys and counts, and their changes."""
    labels, policy = Labels(spec), spec.policy
    figures = [*policy.attributes, *policy.split_columns, *spec.combinations, COUNT]
    keys = [*spec.data.public, *spec.groupers, *spec.classes, *spec.hierarchies, *TREE_OF_LEVEL]
    yield from (ESTABLISHMENT, *([spec.data.id] if spec.data.id else []))
    yield from (attribute.column for attribute in policy.attributes.values())
    yield from (name + suffix for name in policy.attributes for suffix in OWN_SUFFIXES)
    yield from (call(name) for name in keys for call in (str, labels.title))
    for name in figures:
        for called in (name, labels.title(name), labels.heading(name), labels.with_unit(name)):
            yield from (called, *(change.format(called) for change in OF_CHANGES))


def _our_names() -> Iterator[str]:
    """What tables call their columns, and ratios that have a name already."""
    yield from (*COLUMNS, *BUILT_IN, *(title for title, _ in BUILT_IN_TITLES.values()))
    yield from (column for name in CHANGED for column in figure_columns(name))
