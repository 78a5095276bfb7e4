"""`gedp desk`: a local page where anybody makes tables of a release."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gedp.cli.options import PATH, release_argument

if TYPE_CHECKING:
    from gedp.desk.source import DeskSource
    from gedp.progress import NextStep

HOST, PORT = "127.0.0.1", 8350


@click.command()
@release_argument
@click.option("--host", default=HOST, show_default=True, help="Address to listen at; 0.0.0.0 is for everybody.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port to listen at; 0 for any."
)
@click.option(
    "--allow-name", "names", multiple=True, metavar="NAME", help="Name by which the page may be reached; repeat it."
)
@click.option(
    "--against",
    type=PATH,
    metavar="OLD",
    help="Earlier release to compare with: the page can also show what changed since then.",
)
@click.option("--title", help="Heading of the page, instead of the number of establishments.")
@click.option(
    "--quality",
    help="Classes of quality, with the largest coefficient of variation of each; the last has none. "
    "[default: A=5%,B=10%,C=25%,D]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
def command(
    folder: Path,
    host: str,
    port: int,
    names: tuple[str, ...],
    against: Path | None,
    title: str | None,
    quality: str | None,
    opens: bool,
) -> None:
    """Serve a page where anybody makes tables of the release in DIR: choose, filter, sort, draw, download.

    Rows, columns, figures, filters and levels are chosen on the page, and every figure is shown with its error. Figures
    are those of `gedp tabulate`. The page is made from the release alone, spends nothing, and needs no network. It is
    for this machine only unless --host says otherwise; then put it behind a web server that encrypts. Stop it with
    Ctrl-C.

    With --against, the page can also show what changed since an earlier release, as `gedp tabulate --against` says it:
    change and percent change with their intervals, and whether the change is significant.

    DIR can also be a package of `gedp publish`. Its finished tables are shown as they were published, and no others
    can be made from them.

    \b
    Examples:
      gedp desk out
      gedp desk out --open --title "Employment and wages, 2016 Q1"
      gedp desk 2016q2 --against 2016q1
      gedp desk package
      gedp desk out --host 0.0.0.0 --allow-name desk.example.org
    """
    import webbrowser
    from contextlib import suppress

    from gedp.cli.console import warn_if_seeded
    from gedp.cli.progress import steps
    from gedp.errors import Refused, how_to_install

    try:
        from gedp.desk.app import Desk, application
        from gedp.desk.server import address_of, is_for_this_machine, listen, make_server
    except ModuleNotFoundError as error:
        raise Refused(f"the desk needs {error.name}. Install it: {how_to_install('desk')}") from None
    with listen(host, port) as listening:
        is_private = is_for_this_machine(listening)
        with steps() as at:
            desk = Desk(_source(folder, against, title, quality, at.step, is_private=is_private))
            at.step("getting ready")
            desk.get_ready()
        address = address_of(listening)
        click.echo(f"The desk is at {address} Stop it with Ctrl-C.")
        if not is_private:
            click.echo("Everybody who can reach this machine can use it.", err=True)
        warn_if_seeded(desk.source.facts, err=True)
        if opens:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            make_server(application(desk), names).run(sockets=[listening])
    click.echo("Stopped.")


def _source(
    folder: Path, against: Path | None, title: str | None, quality: str | None, step: "NextStep", *, is_private: bool
) -> "DeskSource":
    """What is in the folder: a release, fitted, or the tables of a package. Only this machine is told paths."""
    from gedp.confidential.engines.choice import on_file
    from gedp.desk.catalogue import Catalogue
    from gedp.desk.package import read_package
    from gedp.microdata.on_file import find_microdata
    from gedp.publication.quality import Quality, parse_quality
    from gedp.publication.verify import is_package
    from gedp.release import MANIFEST, read_release

    classes = Quality() if quality is None else parse_quality(quality)
    finished = [is_package(each) and not (each / MANIFEST).exists() for each in (folder, against) if each is not None]
    if any(finished) and against is not None:
        raise click.UsageError("--against compares two releases, and the tables of a package are finished")
    if any(finished):
        if quality is not None:
            raise click.UsageError("the figures of a package have their classes: leave out --quality")
        step("checking the package")
        return read_package(folder, title)

    def catalogue(of: Path, heading: str | None = None, earlier: Catalogue | None = None) -> Catalogue:
        step("checking the release")
        release = read_release(of)
        step("fitting")
        named = str(of) if is_private else of.resolve().name
        return Catalogue(find_microdata(release, on_file=on_file(None)), named, heading, classes, earlier)

    return catalogue(folder, title, None if against is None else catalogue(against))
