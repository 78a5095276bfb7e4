"""The establishments of an earlier release, for a plan: what it published of them, with the noise that is on it."""

import numpy as np

from gedp.arrays import CodeArray, FloatArray, label_codes
from gedp.errors import Fault, FaultsError, Refused
from gedp.microdata.cells import PublicRows, read_public_rows
from gedp.microdata.combining import joined
from gedp.microdata.on_file import is_on_file, read_description
from gedp.neighbors.estimates import combined
from gedp.planning.establishments import Establishments, Keys, Sizes, SizesFrom
from gedp.policy import Grouper, Spec
from gedp.policy.model import OWN_SUFFIXES, PSI_SUFFIX
from gedp.release import ReleaseFolder
from gedp.release.derived import MICRODATA
from gedp.release.parts import read_columns


def from_release(spec: Spec, release: ReleaseFolder) -> Establishments:
    """Its establishments: their groups in terms of the spec, and values from its microdata or identity answers."""
    rows = read_public_rows(release)
    if not rows.lists_establishments:
        raise Refused(f"{release.name} lists no establishments, so nothing can be planned from it")
    faults = [
        Fault(f"attribute {name}", "the release says nothing of its establishments", "Name another release")
        for name in spec.asked
        if rows.spec.identity_of(name) is None
    ]
    faults += [
        Fault(f"column {name}", "the release does not have it", "Name another release")
        for name in spec.data.public
        if name not in rows.spec.data.public
    ]
    if faults:
        raise FaultsError(release.name, faults)
    sizes = {name: _sizes(spec, release, name) for name in spec.asked}
    source = f"those of {release.name}"
    return Establishments(_keys(spec, rows), sizes, source, SizesFrom(source))


def _keys(spec: Spec, rows: PublicRows) -> Keys:
    columns = {name: rows.key(name) for name in spec.data.public}
    for name, grouper in spec.groupers.items():
        if grouper.columns:
            columns[name] = joined([columns[column] for column in grouper.columns], rows.count)
            continue
        above = columns.get(grouper.column)
        if above is not None and (found := _grouped(rows, grouper, above)) is not None:
            columns[name] = found
    needed = [key for query in spec.tables for key in query.public]
    if missing := dict.fromkeys(key for key in needed if key not in columns):
        problem, hint = "its map is not that of the release", "Plan where the table is, or from one with this column"
        raise FaultsError(rows.source.name, [Fault(f"grouping {name}", problem, hint) for name in missing])
    return Keys(rows.count, columns)


def _grouped(
    rows: PublicRows, grouper: Grouper, column: tuple[CodeArray, list[str]]
) -> tuple[CodeArray, list[str]] | None:
    """A grouping of the spec; None where it needs a map that the release does not have."""
    if grouper.prefix is None:
        return rows.key(grouper.name) if rows.spec.groupers.get(grouper.name) == grouper else None
    labels, of_text = label_codes([text[: grouper.prefix] for text in column[1]])
    return of_text[column[0]], labels


def _sizes(spec: Spec, release: ReleaseFolder, name: str) -> Sizes:
    """Values from the microdata, if there are any; and where ψ is the same, what the identity answers say of it."""
    values = _column(release, name)
    psi = spec.policy.attributes[name].protection.psi
    if release.manifest.spec.policy.attributes[name].protection.psi != psi:
        return Sizes(values)
    sigma = next(a.noise[name].sigma for a in release.manifest.answered if a.is_identity and name in a.noise)
    suffixes = OWN_SUFFIXES if release.manifest.spec.is_individual else (PSI_SUFFIX,)
    table = release.identity([name + suffix for suffix in suffixes])
    omega, *second = (np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns)
    if not second:
        return Sizes(values, omega, np.full(len(omega), sigma))
    both = combined(psi, (omega, sigma), (second[0], second[1]))
    return Sizes(values, both.omega, np.asarray(both.sigma))


def _column(release: ReleaseFolder, name: str) -> FloatArray:
    if not is_on_file(release):
        table = release.identity([name])
    else:
        read_description(release)
        table = read_columns(release.folder / MICRODATA, [name])
    return np.asarray(table[name].to_numpy(), dtype=np.float64)
