"""`gedp ledger`: what has been spent on a dataset, by whom and on what, and whether the record is intact."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gedp.cli import NamingGroup
from gedp.cli.options import FILE, PATH

if TYPE_CHECKING:
    from rich.console import Console

    from gedp.accounting.composition import PrivacyLoss
    from gedp.ledger import Entry, Ledger, LedgerState
    from gedp.policy import PriceLine

_LEDGER = click.argument("path", metavar="LEDGER", type=PATH)


@click.group(cls=NamingGroup)
def command() -> None:
    """Show and verify what has been spent on a dataset, by whom and on what.

    LEDGER is the file that `gedp run` keeps beside the data, such as ri.parquet.ledger.

    \b
    Examples:
      gedp ledger show ri.parquet.ledger
      gedp ledger verify ri.parquet.ledger
      gedp ledger remaining ri.parquet.ledger --budget 2.31
      gedp ledger export ri.parquet.ledger --out ledger.csv
      gedp ledger finish ri.parquet.ledger

    Exit codes: 0 done, 1 the ledger is broken or the request is refused, 2 bad input or usage.
    """


@command.command()
@_LEDGER
def show(path: Path) -> None:
    """Show what was spent and what is promised.

    Lists every release with its price and state, the total, the promise over all releases, and the head hash to write
    down.

    \b
    Examples:
      gedp ledger show ri.parquet.ledger
    """

    from gedp.cli.console import make_console
    from gedp.cli.ledger_series import print_statement
    from gedp.ledger.amounts import mu_down, mu_up

    console = make_console()
    state = _open(path).state()
    _print_releases(console, state)
    _echo_unfinished(path)
    for entry in state.verification.entries:
        _print_decision(entry)
    for entry, permit in state.permits:
        click.echo(f"Decision by {permit.by} at {_minute(entry.time)} to promise less: {'; '.join(permit.what)}")
        click.echo(f"  {permit.reason}")
    print_statement(console, state)
    spent = f"Spent: mu = {mu_up(state.total)}"
    if state.budget and state.series is None:
        left = mu_down(state.remaining(state.budget))
        spent += f" of {mu_down(state.budget)}, the latest release's budget; mu = {left} remains"
    console.print(f"{spent}.")
    _end_if_broken(state)
    console.print(state.combined.sentence)
    click.echo(f"Head, to write down: {state.verification.head}")


@command.command()
@_LEDGER
@click.option("--head", metavar="HASH", help="Head hash noted earlier, which the ledger must still contain.")
@click.option(
    "--release",
    "folder",
    metavar="PATH",
    type=PATH,
    help="Folder of a release, or file with an answer, to check against its seal in the ledger.",
)
def verify(path: Path, head: str | None, folder: Path | None) -> None:
    """Check that the ledger is as it was written. Exit code 0 if it is, 1 if not.

    Only a head hash that was written down elsewhere can show that the whole file was put back to an older state. With
    --release, also check that the folder holds a release that the ledger sealed, with every file unchanged.

    \b
    Examples:
      gedp ledger verify ri.parquet.ledger
      gedp ledger verify ri.parquet.ledger --head "$(cat noted-head.txt)"
      gedp ledger verify ri.parquet.ledger --release out
    """
    state = _open(path).state()
    verification = state.verification
    for decided in verification.decided:
        click.echo(f"decided: {decided}")
    _end_if_broken(state)
    count = len(verification.hashes) - 1
    if head is not None and not verification.knows(head.strip().lower()):
        click.echo(
            f"gedp: none of the {count} entries has the noted hash, so the ledger was rewritten or put back to an "
            "older state. Restore the right file, or count what is missing: gedp ledger decide LEDGER --add-mu MU "
            "--note TEXT",
            err=True,
        )
        raise SystemExit(1)
    since = ""
    if head is not None:
        since = f"; {count - verification.hashes.index(head.strip().lower())} since the noted head"
    click.echo(f"The ledger is intact: {_entries(count)}{since}. Head: {verification.head}")
    if folder is not None:
        click.echo(_sealed(state, path, folder))


@command.command()
@_LEDGER
@click.option("--budget", metavar="MU", help="Budget to compare with. Default: that of the latest release.")
def remaining(path: Path, budget: str | None) -> None:
    """Show what may still be spent.

    Given as mu, rounded down, and as the exact square of mu. In a series, of every period, of every year, and for the
    next period.

    \b
    Examples:
      gedp ledger remaining ri.parquet.ledger
      gedp ledger remaining ri.parquet.ledger --budget 2.31
    """
    from gedp.cli.ledger_series import echo_remaining
    from gedp.ledger.amounts import loss_text, mu_down, mu_up

    state = _open(path).state()
    _end_if_broken(state)
    whole = _mu("--budget", budget) if budget is not None else state.budget
    if whole is None:
        raise click.UsageError("nothing has been released yet, so give the budget: --budget MU")
    if state.series is not None:
        echo_remaining(state, whole)
        return
    left = state.remaining(whole)
    click.echo(f"budget     mu = {mu_down(whole)}  (mu squared = {loss_text(whole)})")
    click.echo(f"spent      mu = {mu_up(state.total)}  (mu squared = {loss_text(state.total)})")
    click.echo(f"remaining  mu = {mu_down(left)}  (mu squared = {loss_text(left)})")


@command.command()
@_LEDGER
@click.option("--out", required=True, type=FILE, help="File to write, .jsonl or .csv.")
@click.option("--series", is_flag=True, help="Write what every period, every year and all periods cost instead (CSV).")
def export(path: Path, out: Path, series: bool) -> None:
    """Write every entry to a file.

    JSON Lines hold everything, with hashes; CSV has one row per entry. The key of the data fingerprints stays in the
    ledger.

    \b
    Examples:
      gedp ledger export ri.parquet.ledger --out ledger.jsonl
      gedp ledger export ri.parquet.ledger --out ledger.csv
      gedp ledger export ri.parquet.ledger --series --out series.csv
    """
    from gedp.cli.output import require_other
    from gedp.files import write_text
    from gedp.ledger.export import csv_text, json_lines
    from gedp.ledger.statement import statement, statement_csv

    writers = {".jsonl": json_lines, ".csv": csv_text}
    if out.suffix not in writers:
        raise click.BadParameter("name it .jsonl or .csv", param_hint="--out")
    if series and out.suffix != ".csv":
        raise click.BadParameter("name it .csv", param_hint="--out")
    require_other(out, path.with_suffix(""))
    state = _open(path).state()
    if series:
        write_text(out, statement_csv(state))
        click.echo(f"Wrote {len(list(statement(state)))} lines to {out}.")
        _end_if_broken(state)
        return
    write_text(out, writers[out.suffix](state.verification.entries))
    click.echo(f"Wrote {_entries(len(state.verification.entries))} to {out}.")
    _end_if_broken(state)


@command.command()
@_LEDGER
@click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)
def finish(path: Path, folder: Path | None) -> None:
    """Finish releases that were interrupted, or record that they are lost.

    A release counts from its first draw on. If its process ended before the ledger had its last entry, this looks at
    what is on disk. A release that is whole, with every file as its manifest says, gets its name (never over something
    that is there) and its last entry. One that is not whole cannot be made again: its noise was drawn and parts of it
    may have been seen, so its price stays spent, and it is recorded as abandoned. Nothing is spent or given back.

    FOLDER is where the release was to go, its private folder beside that (.NAME.gedp-partial), or the file of an answer
    to a query of one's own. Without it, every release that has no end is looked at.

    \b
    Examples:
      gedp ledger finish ri.parquet.ledger
      gedp ledger finish ri.parquet.ledger out

    Exit codes: 0 every release has its end, 1 one is still being made, cannot be found, or its place is taken.
    """
    from gedp.ledger.finishing import finish

    closed = finish(_open(path), folder)
    for each in closed:
        left = each.outcome == "open"
        click.echo(f"gedp: {each.sentence}" if left else each.sentence, err=left)
    if not closed:
        click.echo("There is nothing to finish: every release in the ledger has its end.")
    if any(each.outcome == "open" for each in closed):
        raise SystemExit(1)


@command.command()
@_LEDGER
@click.option("--note", required=True, help="Who looked into it and what they found; kept for ever.")
@click.option(
    "--add-mu", metavar="MU", help="Also count this much as spent, for releases that the ledger no longer shows."
)
def decide(path: Path, note: str, add_mu: str | None) -> None:
    """Record a decision about a broken ledger.

    A person has looked into what is broken, which is recorded as it was found, and releases can go on. Nothing that was
    counted is given back, and `verify` still names every break.

    \b
    Examples:
      gedp ledger decide ri.parquet.ledger --note "the registrar: entry 3 edited by mistake, see memo 12"
      gedp ledger decide ri.parquet.ledger --note "back to Monday's copy; one release lost" --add-mu 0.7
    """
    from gedp.accounting.composition import NOTHING
    from gedp.ledger.amounts import mu_up

    added = NOTHING if add_mu is None else _mu("--add-mu", add_mu)
    entry = _open(path).decide(note, add=added)
    _print_decision(entry)
    click.echo(f"Spent: mu = {mu_up(entry.total)}. Head, to write down: {entry.hash}")


def _sealed(state: "LedgerState", path: Path, folder: Path) -> str:
    """A sentence that the release in the folder is one that the ledger sealed; rejects any other."""
    from gedp.errors import Refused
    from gedp.files import sha256
    from gedp.release import MANIFEST, read_release
    from gedp.release.answer import read_answer
    from gedp.release.reader import foreign_files

    if folder.is_file():
        name, sealed = read_answer(folder).release, folder
    else:
        manifest = read_release(folder).manifest
        name, sealed = manifest.release, folder / MANIFEST
        if foreign := foreign_files(folder, manifest):
            raise Refused(f"{folder} holds {foreign[0]}, which is not part of a release")
    release = next((release for release in state.releases if release.reserve.release == name), None)
    if release is None:
        raise Refused(f"the release in {folder} is not in the ledger {path}")
    if release.manifest_digest is None:
        raise Refused(f"the ledger has the release in {folder} as {release.outcome}, and has not sealed its files")
    if release.manifest_digest != sha256(sealed):
        raise Refused(f"{sealed} is not the one that the ledger sealed for this release")
    return f"The release in {folder} is the one that was sealed on {release.time[:10]}; everything in it is unchanged."


def _open(path: Path) -> "Ledger":
    from gedp.ledger import Ledger

    return Ledger.open(path, create=False)


def _mu(option: str, text: str) -> "PrivacyLoss":
    from gedp.accounting.composition import PrivacyLoss
    from gedp.errors import DomainError

    try:
        return PrivacyLoss.of(text)
    except DomainError as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _print_releases(console: "Console", state: "LedgerState") -> None:
    from gedp.documents import PrintedTable
    from gedp.documents.terminal import print_table
    from gedp.ledger.amounts import mu_up

    of, rows = ["of"] if state.series is not None else [], []
    for release in state.releases:
        reserve = release.reserve
        queries = ", ".join(dict.fromkeys(_asked(line) for line in reserve.prices))
        when, mu = _minute(release.time), mu_up(reserve.loss, 4)
        period = [str(reserve.series.period) if reserve.series else ""] if of else []
        rows.append((when, release.who, reserve.release[:8], *period, queries, mu, release.outcome))
    headings = ("when (UTC)", "who", "release", *of, "queries", "mu", "state")
    print_table(console, PrintedTable("Releases", headings, rows, texts={*headings} - {"mu"}))
    for reserve in (release.reserve for release in state.releases):
        if reserve.series and reserve.series.charged:
            counts = "; ".join(map(str, reserve.series.charged))
            console.print(f"{reserve.release[:8]} of {reserve.series.period} holds values of other periods: {counts}.")
    versions = len({release.reserve.fingerprint for release in state.releases})
    if versions > 1 and not of:
        console.print(f"The data changed between releases ({versions} versions); all of them count together.")


def _echo_unfinished(path: Path) -> None:
    """Releases without an end: where they go, and how they come to their end if their process has ended."""
    from gedp.ledger.finding import near
    from gedp.ledger.finishing import unfinished

    for each in unfinished(_open(path)):
        place = "" if each.place is None else f" in {near(each.place)}"
        if each.running:
            click.echo(f"{each.name} is still being made{place}.")
        else:
            folder = " FOLDER" if each.place is None else ""
            click.echo(f"{each.name}{place} was interrupted. Finish it: gedp ledger finish {path}{folder}")


def _asked(line: "PriceLine") -> str:
    """The query of a price; of all answers, which attribute they are about and what they cost."""
    from gedp.ledger.amounts import mu_up
    from gedp.policy.pricing import ALL_ANSWERS

    return f"{line.query} about {line.attribute} ({mu_up(line.loss, 4)})" if line.query == ALL_ANSWERS else line.query


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _minute(time: str) -> str:
    """A time of the ledger, to the minute."""
    return time[:16].replace("T", " ")


def _print_decision(entry: "Entry") -> None:
    from gedp.ledger import Decision
    from gedp.ledger.amounts import mu_up

    if not isinstance(entry.event, Decision):
        return
    added = f", counting mu = {mu_up(entry.event.added)} more" if entry.event.added.mu_squared else ""
    click.echo(f"Decision by {entry.who} at {_minute(entry.time)}{added}: {entry.event.note}")
    for found in entry.event.breaks:
        click.echo(f"  {found}")


def _end_if_broken(state: "LedgerState") -> None:
    breaks = state.verification.breaks
    if not breaks:
        return
    click.echo("gedp: the ledger is not as it was written:", err=True)
    for found in breaks:
        click.echo(f"  {found}", err=True)
    click.echo(
        "Nothing can be released until somebody has looked into it: gedp ledger decide LEDGER --note TEXT", err=True
    )
    raise SystemExit(1)
