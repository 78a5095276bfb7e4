"""The microdata on file in the folder of a release: fitted anew the way they were, since errors come from the fit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.arrays import FloatArray
from gedp.errors import Fault, FaultsError
from gedp.files import regular, sha256
from gedp.microdata.cells import PublicRows, read_public_rows
from gedp.microdata.constraints.fixed import Given, given_totals, read_totals
from gedp.microdata.fit import Microdata, fit_microdata
from gedp.microdata.fitted import FIXED_TOTALS
from gedp.microdata.kinds import stay_on_file
from gedp.microdata.weights import AttributeFit
from gedp.passes import OnFile
from gedp.policy.keys import CONSTRAINTS, WEIGHTS
from gedp.release import MANIFEST, ReleaseFolder, TamperedReleaseError
from gedp.release.derived import MICRODATA, MICRODATA_JSON
from gedp.release.parts import digest, files_of, read_columns

ALIKE = 0.01  # standard deviations of a row's answer: how far a fit made anew may be from the one on file


class FitOptions(TypedDict, total=False):
    """How microdata are fitted, besides fixed totals: see `fit_microdata`."""

    weights: str | None
    share_by: str | None
    nonnegative: bool | None
    whole: bool | None


class _Rows(TypedDict, total=False):
    """Which attributes are fitted, and where the rows are."""

    attributes: Sequence[str] | None
    on_file: OnFile | None
    public_rows: PublicRows | None


def is_on_file(release: ReleaseFolder) -> bool:
    """Whether somebody has fitted microdata and left them in the folder."""
    return any((release.folder / name).exists() for name in (MICRODATA, MICRODATA_JSON))


def find_microdata(
    release: ReleaseFolder,
    *,
    attributes: Sequence[str] | None = None,
    fixed: Given | Sequence[Given] | None = None,
    on_file: OnFile | None = None,
    public_rows: PublicRows | None = None,
    **asked: Unpack[FitOptions],
) -> Microdata:
    """The microdata on file in a release, so that tables agree with them; `is_on_file` of the result says whether.

    Where there are none they are fitted as `fit_microdata` does. Options that are not those on file ask for a fit that
    differs from the one on file in these.
    """
    rows: _Rows = {"attributes": attributes, "on_file": on_file, "public_rows": public_rows}
    if not is_on_file(release):
        return fit_microdata(release, fixed=fixed, **rows, **asked)
    described = read_description(release)
    before = _options(release, described)
    chosen = {**before, **{name: value for name, value in asked.items() if value is not None}}
    given = given_totals(fixed)
    totals, faults = read_totals(given)
    if faults:
        raise FaultsError("constraints", faults)
    stored = described.get(FIXED_TOTALS, [])
    if chosen == before and [table.to_pydict() for table in totals.values()] in ([], stored):
        return _stored(release, described, [], rows)
    return fit_microdata(release, fixed=given or [pa.table(columns) for columns in stored], **rows, **chosen)


def read_microdata(
    release: ReleaseFolder,
    fixed: Sequence[Given] = (),
    attributes: Sequence[str] | None = None,
    on_file: OnFile | None = None,
) -> Microdata:
    """The microdata on file in a release, of all attributes or of some; rejects those that a fit does not give.

    The values are those on file, the errors those of the fit. `fixed` are the public totals that they were fitted to;
    without them, those in the file beside the microdata. Rows that stay there by `on_file` are compared kind by kind.
    """
    return _stored(release, read_description(release), fixed, {"attributes": attributes, "on_file": on_file})


def _stored(release: ReleaseFolder, described: Mapping[str, Any], fixed: Sequence[Given], rows: _Rows) -> Microdata:
    """The microdata on file, as their description says that they were fitted."""
    given = list(fixed) or [pa.table(columns) for columns in described.get(FIXED_TOTALS, ())]
    if described["constraints"]["fixed"] and not given:
        hint = "Give them again: --fixed FILE (fixed in Python)"
        raise FaultsError(release.name, [Fault(MICRODATA, "it was fitted to fixed public totals", hint)])
    microdata = fit_microdata(release, fixed=given, **rows, **_options(release, described))
    stored = _read_columns(microdata)
    fits = {name: _with_values(microdata, name, stored[name]) for name in microdata.fits}
    if other := [name for name in fits if not _is_alike(fits[name].values, name, microdata)]:
        problem = f"{', '.join(other)}: not what a fit with the options in {MICRODATA_JSON} gives"
        raise FaultsError(release.name, [_again(release, problem)])
    return replace(microdata, fits=fits, is_on_file=True)


def microdata_to_report(
    release: ReleaseFolder, fixed: Sequence[Given] = (), on_file: OnFile | None = None
) -> Microdata:
    """The microdata on file; those of a release whose answers determine none, for its tables."""
    rows: _Rows = {"on_file": on_file}
    if not stay_on_file(release.manifest.spec, release.manifest.establishments, on_file):
        public_rows = rows["public_rows"] = read_public_rows(release)
        if not any(map(public_rows.gives_rows, public_rows.attributes())):
            return fit_microdata(release, fixed=fixed, public_rows=public_rows)
    return _stored(release, read_description(release), fixed, rows)


def _options(release: ReleaseFolder, described: Mapping[str, Any]) -> dict[str, Any]:
    """With which options of `fit_microdata` the microdata on file were fitted, besides fixed totals."""
    columns = release.manifest.spec.data.public
    constraints = described["constraints"]
    return {
        "weights": described["weights"],
        "share_by": described["public_weights"] if described["public_weights"] in columns else None,
        **{name: constraints[name] for name in CONSTRAINTS},
    }


def _read_columns(microdata: Microdata) -> Mapping[str, FloatArray]:
    """The values on file of all attributes: of the rows, or of every kind together."""
    release, path, kinds = microdata.release, microdata.release.folder / MICRODATA, microdata.public_rows.kinds
    try:
        named = pq.read_schema(files_of(path)[0]).names
        if lacking := [name for name in microdata.fits if name not in named]:
            raise FaultsError(release.name, [_again(release, f"{', '.join(lacking)}: not among its columns")])
        if kinds is not None:
            return {str(name): sums for name, sums in kinds.sums(path, list(microdata.fits)).items()}
        table = read_columns(path, list(microdata.fits))
    except (OSError, ValueError, IndexError, pa.ArrowException):
        raise FaultsError(release.name, [_again(release, "it cannot be read")]) from None
    return {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in microdata.fits}


def _with_values(microdata: Microdata, name: str, values: FloatArray) -> AttributeFit:
    """The values on file with the errors of a fit made anew, which may end elsewhere by rounding."""
    cells = microdata.public_rows.cells_of(name)
    if len(values) != len(cells.group_of):
        raise FaultsError(
            microdata.release.name, [_again(microdata.release, "it does not have the rows of the release")]
        )
    return replace(microdata.fits[name], values=values, totals=cells.sums(values))


def _is_alike(values: FloatArray, name: str, microdata: Microdata) -> bool:
    """Rounds of weights may end elsewhere on another machine, and values be rounded to the next unit."""
    fit = microdata.fits[name]
    spread = np.abs(fit.values) if fit.row_variances is None else np.sqrt(fit.row_variances)
    unit = float(microdata.public_rows.spec.policy.attributes[name].unit) if microdata.constraints.whole else 0.0
    allowed = max(ALIKE, 2 * fit.largest_change) * spread + unit + 1e-9 * np.max(np.abs(fit.values), initial=0.0)
    return bool(np.all(np.abs(values - fit.values) <= allowed))


def read_description(release: ReleaseFolder) -> Mapping[str, Any]:
    """How the microdata on file were fitted; rejects those that are missing, changed, or of another release."""
    try:
        described = json.loads(regular(release.folder / MICRODATA_JSON).read_text(encoding="utf-8"))
        expected, of_manifest = str(described["sha256"]), str(described["manifest_sha256"])
        constraints = described["constraints"]
        if described["weights"] not in WEIGHTS or not isinstance(described["public_weights"], str):
            raise ValueError
        if not all(isinstance(constraints[name], bool) for name in CONSTRAINTS):
            raise ValueError
        constraints["fixed"], [pa.table(columns) for columns in described.get(FIXED_TOTALS, ())]
        found = digest(release.folder / MICRODATA)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        problem = f"it or {MICRODATA_JSON} is missing or cannot be read"
        raise FaultsError(release.name, [_again(release, problem)]) from None
    again = f"Make it again: gedp microdata {release.folder}"
    if of_manifest != sha256(release.folder / MANIFEST):
        problem = f"{MANIFEST} is not the one that {MICRODATA} was fitted to"
        raise TamperedReleaseError(f"{release.folder}: {problem}. {again}")
    if found != expected:
        raise TamperedReleaseError(f"{release.folder}: {MICRODATA} is not as {MICRODATA_JSON} describes it. {again}")
    return dict(described)


def _again(release: ReleaseFolder, problem: str) -> Fault:
    return Fault(MICRODATA, problem, f"Make it: gedp microdata {release.folder}")
