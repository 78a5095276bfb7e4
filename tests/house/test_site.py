"""The docs site: links that lead somewhere when pages move, and a check that notices what is wrong."""

from pathlib import Path

import pytest

import gedp
from tools import site
from tools.site import FROM_ROOT, ROOT, SiteError, faults_of, fenced, is_in_navigation, pages, reference, relinked


def turned(text: str, page: str) -> str:
    return relinked(text, ROOT / page, pages())


def test_links_lead_on_from_the_place_of_a_page_in_the_site() -> None:
    assert turned("[m](docs/threat-model.md)", "SECURITY.md") == "[m](threat-model.md)"
    assert turned("[s](../SECURITY.md)", "docs/index.md") == "[s](security.md)"
    assert turned("[s](../spec.md#map-files)", "docs/proofs/noise.md") == "[s](../spec.md#map-files)"
    assert turned("![p](images/demo-totals.png)", "docs/index.md") == "![p](images/demo-totals.png)"


def test_links_to_what_is_not_in_the_site_become_text() -> None:
    assert turned("[`main`](../src/gedp/__init__.py) is", "docs/design.md") == "`main` is"


def test_other_links_stay_as_they_are() -> None:
    for text in ("[a](https://example.org/a.md)", "[b](#here)", "[c](nowhere.md)", "table[key](value)"):
        assert turned(text, "docs/index.md") == text


def test_every_page_is_in_the_navigation() -> None:
    places = [place for place in pages().values() if place.suffix == ".md"]
    assert {Path(place) for place in FROM_ROOT.values()} < set(places)
    assert all(map(is_in_navigation, places))
    assert not is_in_navigation(Path("forgotten.md"))


def test_every_public_name_has_an_entry_of_its_own_definition() -> None:
    listed = reference()
    for name in gedp.__all__:
        assert name.startswith("__") or f"heading: gedp.{name}\n" in listed
    assert "::: gedp.neighbors.functions.Sqrt\n" in listed


def test_a_name_that_cannot_be_documented_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gedp, "__all__", [*gedp.__all__, "ANSWER"])
    monkeypatch.setattr(gedp, "ANSWER", 42, raising=False)
    with pytest.raises(SiteError, match=r"gedp\.ANSWER"):
        reference()


def test_examples_in_docstrings_become_code() -> None:
    text = "What it does.\n\n>>> 1 + 1\n2\n>>> for x in []:\n...     pass\n\nWhy.\n"
    assert fenced(text) == "What it does.\n\n```pycon\n>>> 1 + 1\n2\n>>> for x in []:\n...     pass\n```\n\nWhy.\n"


SOUND = {
    "index.html": '<h1 id="top">a</h1><a href="python.html#gedp.x">b</a><a href="#top">c</a><a href="https://a.org/">d</a>',
    "python.html": '<link href="style.css"><h2 id="gedp.x">x</h2><a href="./index.html">up</a><img src="data:,">',
    "style.css": "p { background: url(picture.png) }",
}


@pytest.mark.parametrize(
    ("file", "planted", "fault"),
    [
        ("index.html", '<a href="gone.html">', "gone.html leads nowhere"),
        ("index.html", '<a href="python.html#gone">', "python.html#gone: there is no such place on that page"),
        ("index.html", '<a href="#gone">', "#gone: there is no such place on that page"),
        ("index.html", '<script src="https://a.org/a.js">', "loads https://a.org/a.js"),
        ("index.html", '<link href="//a.org/a.css">', "loads //a.org/a.css"),
        ("style.css", "@import 'https://a.org/a.css'", "loads something from a network"),
        ("style.css", "p { background: url(//a.org/a.png) }", "loads something from a network"),
    ],
)
def test_what_is_wrong_with_a_site_is_noticed(file: str, planted: str, fault: str, tmp_path: Path) -> None:
    for name, text in SOUND.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(faults_of(tmp_path, ["gedp.x"])) == []
    (tmp_path / file).write_text(SOUND[file] + planted, encoding="utf-8")
    assert list(faults_of(tmp_path, ["gedp.x"])) == [f"{file}: {fault}"]


def test_a_name_without_an_entry_is_noticed(tmp_path: Path) -> None:
    for name, text in SOUND.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(faults_of(tmp_path, ["gedp.x", "gedp.y"])) == ["python.html: gedp.y is not documented"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Three things:\n- one\n", "a list or a table needs a blank line before it: Three things:\n-"),
        ("A table:\n| a |\n|---|\n", "a list or a table needs a blank line before it: A table:\n|"),
        ("1. one\n\n   ```sh\n   ls\n   ```\n", "code inside a list is indented by four spaces: ```"),
    ],
)
def test_what_the_site_would_show_otherwise_is_noticed(text: str, fault: str, tmp_path: Path) -> None:
    page = tmp_path / "spec.md"
    page.write_text("# A\n- one\n  more\n- two\n\n```\nany:\n- thing\n```\n", encoding="utf-8")
    assert list(site.faults_of_page(page, Path("spec.md"))) == []
    page.write_text(text, encoding="utf-8")
    assert list(site.faults_of_page(page, Path("spec.md"))) == [f"spec.md: {fault}"]


def test_a_page_outside_the_navigation_stops_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(site, "GATHERED", tmp_path / "docs")
    monkeypatch.setattr(site, "SITE", tmp_path / "site")
    monkeypatch.setattr(site, "is_in_navigation", lambda place: place.name != "spec.md")
    with pytest.raises(SiteError, match=r"^spec\.md is not in the navigation"):
        site.gather()
