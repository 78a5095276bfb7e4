"""The manifest of a release of individual accounting: exact pools, importance in place of prices."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from gedp.errors import FaultsError
from gedp.policy import Query, parse_spec
from gedp.release import AttributeNoise, Individual
from gedp.release.answered import Answered
from gedp.release.manifest import MANIFEST, Manifest, expected_files, manifest_text, read_manifest
from tests.policy.test_individual import GOOD

SPEC = parse_spec(GOOD)
CHOSEN = Individual(Decimal("0.1"), 4.0, {"county": 0.5}, {}, 0.75, {"county": 2.0}, {"county": 3.0})


def _answered(query: Query) -> Answered:
    noise = AttributeNoise(0.5) if query.is_identity else AttributeNoise(None, {"psi": 1, "pnc": 1})
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
        answered=tuple(map(_answered, SPEC.queries)),
        zeta=None,
        estimates={},
        files=dict.fromkeys(sorted(expected_files(SPEC)), "0" * 64),
        individual=dict.fromkeys(SPEC.asked, CHOSEN),
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
    assert [q["asked"]["emp"].get("importance") for q in content["queries"]] == ["0", "1", "0.5"]
    assert not any("mu" in a for q in content["queries"] for a in q["asked"].values())
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


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("largest_share", 1.0000001, "more than the pool"),
        ("largest_share", None, "above 0"),
        ("mu", "-1", "above 0"),
        ("tau", "x", "a number"),
        ("predicted_errors", {"county": "nan"}, "above 0"),
        ("unheard_of", 1, "unheard_of"),
    ],
)
def test_what_was_chosen_makes_sense(manifest: Manifest, tmp_path: Path, key: str, value: object, fault: str) -> None:
    content = json.loads(manifest_text(manifest))
    content["individual"]["emp"][key] = value
    (tmp_path / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FaultsError, match=fault):
        read_manifest(tmp_path)


def test_every_attribute_has_what_was_chosen_for_it(manifest: Manifest, tmp_path: Path) -> None:
    content = json.loads(manifest_text(manifest))
    del content["individual"]["emp"]
    (tmp_path / MANIFEST).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FaultsError, match="its attributes are not those of the spec"):
        read_manifest(tmp_path)
