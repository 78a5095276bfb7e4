"""How errors change from level to level of a dimension: coarse groups are exact, fine ones less so."""

from typing import Any

import numpy as np

from gedp.desk.question import Question
from gedp.desk.source import DeskSource
from gedp.desk.tables import Tables
from gedp.errors import Fault, FaultsError

SHARES = {"low": 0.1, "median": 0.5, "high": 0.9}


def errors_by_level(source: DeskSource, tables: Tables, dimension: str, attribute: str) -> dict[str, Any]:
    """Of every level the number of groups and how large their relative errors are; none where there is no table."""
    faults = []
    if dimension not in source.dimensions:
        hint = f"There are: {', '.join(source.dimensions)}"
        faults.append(Fault("dimension", f"{dimension[:40]!r} is not here", hint))
    if attribute not in source.attributes:
        hint = f"There are: {', '.join(source.attributes)}"
        faults.append(Fault("attribute", f"{attribute[:40]!r} is not here", hint))
    if faults:
        raise FaultsError("request", faults)
    levels = [_level(source, tables, key, attribute) for key in source.dimensions[dimension]]
    return {"dimension": dimension, "attribute": attribute, "levels": levels}


def _level(source: DeskSource, tables: Tables, key: str, attribute: str) -> dict[str, Any]:
    level: dict[str, Any] = {"key": key, "groups": len(source.codes_of(key)), **dict.fromkeys(SHARES)}
    question = Question(rows=(key,), attributes=(attribute,))
    if not source.offers(question):
        return level
    cv = np.asarray(tables.get(question).lines["cv"].to_numpy(), dtype=np.float64)
    known = cv[np.isfinite(cv)]
    if known.size:
        level |= {name: float(np.quantile(known, share)) for name, share in SHARES.items()}
    return level
