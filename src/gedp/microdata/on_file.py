"""The microdata on file in the folder of a release: fitted anew the way they were, since errors come from the fit."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.errors import Fault, FaultsError
from gedp.files import sha256
from gedp.microdata.constraints.fixed import Given
from gedp.microdata.fit import MICRODATA, Microdata, fit_microdata
from gedp.release import MANIFEST, Release, TamperedReleaseError

BESIDE = Path(MICRODATA).with_suffix(".json").name
ALIKE = 0.01  # standard deviations of a row's answer: how far a fit made anew may be from the one on file


def is_on_file(release: Release) -> bool:
    """Whether somebody has fitted microdata and left them in the folder."""
    return any((release.folder / name).exists() for name in (MICRODATA, BESIDE))


def read_microdata(release: Release, fixed: Sequence[Given] = (), attributes: Sequence[str] | None = None) -> Microdata:
    """The microdata on file in a release, of all attributes or of some; refuses those that a fit does not give.

    `fixed` are the public totals that they were fitted to, if any: the file beside them only names their groupings.
    """
    described = read_description(release)
    columns = release.manifest.spec.data.public
    share_by = described["public_weights"] if described["public_weights"] in columns else None
    constraints = described["constraints"]
    if constraints["fixed"] and not fixed:
        fault = Fault(MICRODATA, "it was fitted to fixed public totals", "Give them again, with --fixed")
        raise FaultsError(str(release.folder), [fault])
    microdata = fit_microdata(
        release,
        weights=described["weights"],
        attributes=attributes,
        share_by=share_by,
        nonnegative=constraints["nonnegative"],
        whole=constraints["whole"],
        fixed=fixed,
    )
    on_file = pq.read_table(release.folder / MICRODATA)
    other = [name for name in microdata.fits if not _is_alike(on_file, name, microdata)]
    if other:
        problem = f"{', '.join(other)}: not what a fit with the options in {BESIDE} gives"
        raise FaultsError(str(release.folder), [_again(release, problem)])
    return microdata


def _is_alike(on_file: pa.Table, name: str, microdata: Microdata) -> bool:
    """Rounds of weights may end elsewhere on another machine, and values be rounded to the next unit."""
    fit = microdata.fits[name]
    if name not in on_file.column_names or on_file.num_rows != len(fit.values):
        return False
    spread = np.abs(fit.values) if fit.row_variances is None else np.sqrt(fit.row_variances)
    unit = float(microdata.frame.spec.policy.attributes[name].unit) if microdata.constraints.whole else 0.0
    allowed = max(ALIKE, 2 * fit.largest_change) * spread + unit + 1e-9 * np.max(np.abs(fit.values), initial=0.0)
    return bool(np.all(np.abs(on_file[name].to_numpy() - fit.values) <= allowed))


def read_description(release: Release) -> Mapping[str, Any]:
    """How the microdata on file were fitted; refuses those that are missing, changed, or of another release."""
    try:
        described = json.loads((release.folder / BESIDE).read_text(encoding="utf-8"))
        expected, of_manifest = str(described["sha256"]), str(described["manifest_sha256"])
        described["weights"], described["public_weights"], described["constraints"]["fixed"]
        digest = sha256(release.folder / MICRODATA)
    except (OSError, ValueError, KeyError, TypeError):
        problem = f"it or {BESIDE} is missing or cannot be read"
        raise FaultsError(str(release.folder), [_again(release, problem)]) from None
    if of_manifest != sha256(release.folder / MANIFEST):
        raise TamperedReleaseError(f"{release.folder}: {MANIFEST} is not the one that {MICRODATA} was fitted to")
    if digest != expected:
        raise TamperedReleaseError(f"{release.folder}: {MICRODATA} is not as {BESIDE} describes it")
    return dict(described)


def _again(release: Release, problem: str) -> Fault:
    return Fault(MICRODATA, problem, f"Make it: gedp microdata {release.folder}")
