"""The docs site: `python -m tools.site` gathers the pages, builds site/ from them, and checks what came out.

Pages are plain Markdown that reads well where it lies. Gathering copies docs/ and the pages in the root of the
repository into build/docs, turns links between them accordingly, and lists the public names of gedp for the reference.
"""

import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import gedp

ROOT = Path(__file__).parents[1]
GATHERED = ROOT / "build" / "docs"
SITE = ROOT / "site"
CONFIGURATION = ROOT / "zensical.toml"
ASSETS = ("iframe-worker.js", "site.css")  # beside this file

FROM_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
NAMES_HERE = "<!-- public names -->"
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
SHOWN_OTHERWISE = {  # by the site than by other viewers
    "a list or a table needs a blank line before it": re.compile(r"^[^\s|#\-\d].*\n(?:\||- |\d+\. )", re.MULTILINE),
    "code inside a list is indented by four spaces": re.compile(r"^ {1,3}```", re.MULTILINE),
}
EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^>>> .*\n?)*)+", re.MULTILINE)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


class SiteError(Exception):
    """What is wrong with the pages, one line per fault."""


def main() -> None:
    """Builds the site, or says what is wrong and ends with 1."""
    try:
        gather()
        command = ["zensical", "build", "--strict", "--clean", "--config-file", str(CONFIGURATION)]
        built = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False)
        if built.returncode:
            raise SiteError("zensical ended with an error or a warning")
        if faults := list(faults_of(SITE, [definition(name) for name in public_names()])):
            raise SiteError("\n".join(faults))
    except SiteError as error:
        sys.exit(f"docs: {error}")
    print(f"Open {os.path.relpath(SITE / 'index.html')} in a browser.")


def gather() -> None:
    """Puts all pages into build/docs, with links that lead from there."""
    for folder in (GATHERED, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    places = pages()
    if faults := [fault for source, place in places.items() for fault in faults_of_page(source, place)]:
        raise SiteError("\n".join(faults))
    for source, place in places.items():
        target = GATHERED / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = relinked(source.read_text(encoding="utf-8"), source, places)
            target.write_text(text.replace(NAMES_HERE, reference()), encoding="utf-8")
        else:
            shutil.copyfile(source, target)


def pages() -> dict[Path, Path]:
    """The place in the site of every page, image, script and style sheet."""
    docs = ROOT / "docs"
    places = {path: path.relative_to(docs) for path in sorted(docs.rglob("*")) if path.is_file()}
    from_root = {ROOT / name: Path(place) for name, place in FROM_ROOT.items()}
    return places | from_root | {Path(__file__).with_name(name): Path(name) for name in ASSETS}


def faults_of_page(source: Path, place: Path) -> Iterator[str]:
    """What keeps a page from being found, or from being shown as elsewhere."""
    if source.suffix != ".md":
        return
    if not is_in_navigation(place):
        yield f"{place} is not in the navigation of {CONFIGURATION.name}"
    text = FENCED.sub(r"\1```", source.read_text(encoding="utf-8"))
    for problem, pattern in SHOWN_OTHERWISE.items():
        yield from (f"{place}: {problem}: {match[0].strip()}" for match in pattern.finditer(text))


def is_in_navigation(place: Path) -> bool:
    """Whether a reader can find the page."""
    return f'"{place.as_posix()}"' in CONFIGURATION.read_text(encoding="utf-8")


def relinked(text: str, source: Path, places: Mapping[Path, Path]) -> str:
    """The page with links that lead from its place in the site; one to a file that is not there becomes its text."""

    def turned(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        path = Path(os.path.normpath(source.parent / target))
        if path in places:
            return f"[{label}]({os.path.relpath(places[path], places[source].parent)}{anchor})"
        return label if path.exists() else match[0]

    return LINK.sub(turned, text)


def public_names() -> list[str]:
    """What `gedp` offers, without the version."""
    return [name for name in gedp.__all__ if not name.startswith("__")]


def definition(name: str) -> str:
    """Where a public name is defined, as module and name; refuses what cannot be documented."""
    found = getattr(gedp, name)
    if not (inspect.isclass(found) or inspect.isfunction(found)) or not found.__doc__:
        raise SiteError(f"gedp.{name} is no class or function with a docstring")
    return f"{found.__module__}.{found.__qualname__}"


def reference() -> str:
    """The public names by kind, each a directive that is replaced by its signature and docstrings."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name in public_names():
        entry = f"::: {definition(name)}\n    options:\n      heading: gedp.{name}\n      toc_label: {name}"
        found = getattr(gedp, name)
        is_error = inspect.isclass(found) and issubclass(found, BaseException)
        kinds["Errors" if is_error else "Classes" if inspect.isclass(found) else "Functions"].append(entry)
    return "\n\n".join(f"## {kind}\n\n" + "\n\n".join(entries) for kind, entries in kinds.items() if entries)


def fenced(docstring: str) -> str:
    """The docstring with its examples in fences."""
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", docstring)


@dataclass
class Page(HTMLParser):
    """What a page can be linked by, what it links to, and what it loads."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes ids and addresses."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                (self.links if tag == "a" else self.loads).append(value)


def faults_of(site: Path, names: list[str]) -> Iterator[str]:
    """Links and anchors that lead nowhere, what would be fetched from a network, and names without an entry."""
    found = {path: read_page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    for path, page in found.items():
        place = path.relative_to(site)
        yield from (f"{place}: loads {address}" for address in page.loads if is_remote(address))
        for address in (*page.links, *page.loads):
            if not is_remote(address) and not urlsplit(address).scheme:
                yield from (f"{place}: {problem}" for problem in dead_end(path, address, found))
    for style in sorted(site.rglob("*.css")):
        if re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)}: loads something from a network"
    listed = found[site / "python.html"].anchors
    yield from (f"python.html: {name} is not documented" for name in names if name not in listed)


def read_page(path: Path) -> Page:
    """The anchors and addresses of a page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_remote(address: str) -> bool:
    """Whether it takes a network to get there."""
    return urlsplit(address).netloc != ""


def dead_end(path: Path, address: str, found: Mapping[Path, Page]) -> Iterator[str]:
    """Says what is not where a link leads."""
    parts = urlsplit(address)
    target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if not target.is_file():
        yield f"{address} leads nowhere"
    elif parts.fragment and target in found and unquote(parts.fragment) not in found[target].anchors:
        yield f"{address}: there is no such place on that page"


if __name__ == "__main__":
    main()
