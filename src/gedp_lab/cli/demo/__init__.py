"""`gedp demo`: the whole chain on a synthetic state, one function per step, run in order by `command`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gedp.completing import Completed
    from gedp.microdata import Microdata

TABLE_BY, TABLE_OF = ["cnty", "naics3"], "wage"


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("gedp-demo"),
    show_default=True,
    help="Folder to create.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the state; noise is never seeded."
)
@click.option(
    "--details", is_flag=True, help="Also describe the establishments, and print the policy's intervals and prices."
)
def command(out: Path, seed: int, details: bool) -> None:
    """Run the whole chain on a synthetic state of about 20,000 establishments, and sum it up in five lines.

    Makes a policy, a release, microdata, a custom table, a report, a package for the public and a picture, in well
    under a minute. The noise is real, so the figures differ a little each time.

    \b
    Examples:
      gedp demo
      gedp demo --out my-demo --seed 7 --details
    """
    import textwrap

    from gedp_lab.cli.demo import lines, picture
    from gedp_lab.synth.shape import describe

    policy = write_policy(out)
    establishments = make_state(out, seed)
    done("A synthetic state", establishments)
    write_policy_page(policy)
    done("A policy, and its page", policy, policy.with_suffix(".html"))
    published = release(policy)
    done("The protected release", published.microdata.release.folder)
    done("Microdata, and a report", *published.files)
    done(f"A custom table: {TABLE_OF}s", write_table(published.microdata, out))
    done("The package for the public", write_package(published.microdata, out))
    done("A picture", picture.draw(published.microdata, establishments, out / "totals.png"))
    shape = describe(establishments)
    if details:
        show_details(establishments, policy)
    click.echo()
    for number, line in enumerate(lines.five_lines(published.microdata, establishments, shape, out), 1):
        click.echo(
            textwrap.fill(line, 96, initial_indent=f"{number}. ", subsequent_indent="   ", break_on_hyphens=False)
        )


def done(what: str, *paths: Path) -> None:
    """Prints that a step is done, and its files."""
    click.echo(f"{what + ' ':.<30} {', '.join(map(str, paths))}")


def make_state(folder: Path, seed: int) -> Path:
    """Writes the establishments of the demonstration state and returns their file."""
    from gedp_lab.synth.demo import make_demo

    return make_demo(folder, seed).path


def write_policy(folder: Path) -> Path:
    """Writes the spec for the demonstration state: the example `individual`, with labels, the data declared synthetic.

    It is the first file, and marks the folder as a demonstration's: only such a folder is filled again.
    """
    from gedp.errors import Refused
    from gedp.files import write_text
    from gedp.folders import make_folder
    from gedp.policy.examples import example_text
    from gedp_lab.synth.demo import STATE
    from gedp_lab.synth.demo_labels import LABELS, write_code_lists

    path = folder / "policy.toml"
    source = 'source = "establishments.parquet"\n'
    text = example_text("individual").replace(source, source + "synthetic = true\n") + LABELS
    make_folder(folder)
    if any(folder.iterdir()) and not (path.is_file() and path.read_bytes() == text.encode()):
        raise Refused(
            f"{folder} holds something other than a demonstration of this version. Choose another folder with --out, "
            "or remove it"
        )
    write_text(path, text)
    make_folder(folder / "labels")
    write_code_lists(folder / "labels", STATE)
    return path


def write_policy_page(policy: Path) -> None:
    """Writes the page that explains the policy."""
    from gedp.explain.page import explain_page
    from gedp.files import write_text
    from gedp.policy import read_spec

    write_text(policy.with_suffix(".html"), explain_page(read_spec(policy), "demo"))


def release(policy: Path) -> "Completed":
    """Measures, fits and reports. An earlier demonstration's release is replaced, since its data are synthetic."""
    from gedp.cli.progress import steps
    from gedp.completing import complete
    from gedp.confidential.run import plan_run, run
    from gedp.policy import read_spec

    with steps() as at:
        at.step("checking the table")
        released = run(plan_run(read_spec(policy), replace=True, keep=(policy,)), progress=at.reach)
        return complete(released, step=at.step)


def write_table(microdata: "Microdata", folder: Path) -> Path:
    """Writes a custom table, by a grouping that no query asked for, with standard errors."""
    from gedp.csvfiles import write_csv
    from gedp.files import replacing

    path = folder / f"{TABLE_OF}-{'-'.join(TABLE_BY)}.csv"
    with replacing(path) as temporary:
        write_csv(microdata.tabulate(TABLE_BY, [TABLE_OF]).arrow, temporary)
    return path


def write_package(microdata: "Microdata", folder: Path) -> Path:
    """Writes the package of the release for the public; that of an earlier demonstration is replaced."""
    from gedp.publication import PackageOptions
    from gedp.publication import write_package as write

    return write(microdata, folder / "package", PackageOptions(added=(tuple(TABLE_BY),)), replace=True).folder


def show_details(establishments: Path, policy: Path) -> None:
    """Prints how large the establishments are and how the largest dominate, and the policy's intervals and prices."""
    from gedp.cli.console import make_console
    from gedp.documents import Paragraph
    from gedp.documents.terminal import print_blocks
    from gedp.explain.document import price_blocks
    from gedp.explain.facts import protection_groups
    from gedp.explain.tables import interval_table
    from gedp.explain.wording import promise_sentence
    from gedp.policy import price, read_spec
    from gedp_lab.synth.shape import describe
    from gedp_lab.synth.tables import shape_blocks

    console = make_console()
    spec = read_spec(policy)
    intervals = map(interval_table, protection_groups(spec.policy))
    promise = Paragraph(promise_sentence(price(spec).total.mu))
    print_blocks(console, [*shape_blocks(describe(establishments)), promise, *intervals, *price_blocks(spec)])
