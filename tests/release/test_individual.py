"""The manifest of a release of individual accounting: exact pools, importance in place of prices."""

import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from gedp.errors import FaultsError
from gedp.policy import Query, parse_spec
from gedp.release.manifest import (
    MANIFEST,
    Answered,
    AttributeNoise,
    Manifest,
    expected_files,
    manifest_text,
    read_manifest,
)
from tests.policy.test_individual import GOOD

SPEC = parse_spec(GOOD)


def _answered(query: Query) -> Answered:
    noise = AttributeNoise(0.5) if query.is_identity else AttributeNoise(0.5, {"psi": 1, "pnc": 1})
    return Answered(query, 2, dict.fromkeys(query.attributes, noise))


@pytest.fixture
def manifest() -> Manifest:
    return Manifest(
        gedp="0.1.0",
        created=datetime(2026, 1, 1, tzinfo=UTC),
        release=None,
        entropy="system",
        establishments=2,
        spec=SPEC,
        queries=tuple(map(_answered, SPEC.queries)),
        zeta=Fraction(1, 100),
        estimates={},
        files=dict.fromkeys(sorted(expected_files(SPEC)), "0" * 64),
    )


def test_prices_are_exact_and_the_manifest_is_read_back(manifest: Manifest, tmp_path: Path) -> None:
    text = manifest_text(manifest)
    content = json.loads(text)
    assert [(p["query"], p["attribute"], p["mu"], p["mu_squared"]) for p in content["prices"]] == [
        ("all answers", "emp", "0.3", "9/100"),
        ("all answers", "wage", "0.424265", "9/50"),
        ("all answers", "profit", "0.3", "9/100"),
    ]
    assert content["promise"]["mu_squared"] == "9/25"
    assert [q["attributes"]["emp"].get("importance") for q in content["queries"]] == ["0", "1", "0.5"]
    assert not any("mu" in a for q in content["queries"] for a in q["attributes"].values())
    (tmp_path / MANIFEST).write_text(text, encoding="utf-8")
    assert read_manifest(tmp_path) == manifest


@pytest.mark.parametrize(
    ("old", "new"),
    [('"mu_squared": "9/50"', '"mu_squared": "9/51"'), ('"importance": "3"', '"importance": "2"')],
)
def test_a_manifest_that_says_otherwise_than_its_spec_is_refused(
    manifest: Manifest, tmp_path: Path, old: str, new: str
) -> None:
    text = manifest_text(manifest)
    assert old in text
    (tmp_path / MANIFEST).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(FaultsError, match="not that of the spec"):
        read_manifest(tmp_path)
