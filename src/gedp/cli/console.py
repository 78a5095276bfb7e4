"""Where tables and sentences are printed: one place that decides how wide, and that takes texts as they are."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from gedp.desk.source import Facts
    from gedp.publication.verify import VerifiedPackage
    from gedp.release import Manifest

NARROWEST, WIDEST, USUAL = 20, 1_000, 80  # characters


def printable(text: str) -> str:
    r"""A line as it can be shown: no sign in it steers a terminal.

    >>> printable("county \x1b[2J")
    'county \\x1b[2J'
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def make_console(*, stderr: bool = False, width: int | None = None) -> "Console":
    """A console that prints what it is given: no markup, emoji or highlighting, no line too narrow for a number."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, stderr=stderr, width=width)
    if console.width < NARROWEST:
        console.width = USUAL
    return console


def warn_if_seeded(manifest: "Manifest | Facts | VerifiedPackage", *, err: bool = False) -> None:
    """Says of a release whose noise can be drawn again that it protects nobody."""
    if manifest.is_seeded:
        click.echo("NOT PROTECTED: the noise came from a seed.", err=err)


def warn_of_seeds(manifests: Sequence["Manifest"], *, err: bool = False) -> None:
    """The same of several releases, whose noise is only independent if their seeds were different."""
    seeded = [manifest for manifest in manifests if manifest.is_seeded]
    for manifest in seeded[:1]:
        warn_if_seeded(manifest, err=err)
    if len(seeded) > 1:
        click.echo("Errors of changes hold if every release had a seed of its own.", err=err)


def believe_only_sane_sizes() -> None:
    """Forgets COLUMNS and LINES that cannot be a terminal's: 0 would print nothing, and letters end in an error."""
    for name, least in (("COLUMNS", NARROWEST), ("LINES", 1)):
        text = os.environ.get(name, "")
        if text and not (text.isascii() and text.isdigit() and len(text) < 5 and least <= int(text) <= WIDEST):
            del os.environ[name]
