"""What the commands that make establishments share: the options of the file they write, and how they end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from gedp.cli.progress import Steps
    from gedp.lab.synth.establishments import Summary

PATH = click.Path(path_type=Path)
_OPTIONS = (
    click.option(
        "--state", "states", multiple=True, help="State, by postal or FIPS code; may be repeated. Default: all."
    ),
    click.option("--out", type=PATH, required=True, help="Parquet file to write."),
    click.option(
        "--spread",
        type=click.Choice(["skewed", "paper"]),
        default="skewed",
        show_default=True,
        help="How a cell is divided among its establishments.",
    ),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random draws."),
    click.option("--plot", type=PATH, help="Also plot the size distribution (.png, .svg, .pdf)."),
)


@dataclass(frozen=True)
class EstablishmentsFile:
    """The file of establishments that a command writes."""

    out: Path
    spread: str
    seed: int
    plot: Path | None
    began: float = field(default_factory=time.perf_counter)

    def require_writable(self) -> None:
        """Refuses names that cannot be written, before the long work rather than after it."""
        from gedp.files import require_writable
        from gedp.lab.synth.plots import check_plot

        require_writable(self.out)
        if self.plot is not None:
            check_plot(self.plot)

    def write(self, cells: "pa.Table", year: int, quarter: int, at: "Steps") -> "Summary":
        """Makes the establishments of the cells and plots them if asked to."""
        from gedp.lab.synth.establishments import write_establishments
        from gedp.lab.synth.plots import plot_sizes

        at.step("writing establishments", int(cells["estabs"].to_numpy().sum()))
        options = {"year": year, "quarter": quarter, "seed": self.seed}
        summary = write_establishments(cells, self.out, spread=self.spread, progress=at.advance, **options)
        if self.plot is not None:
            at.step("plotting")
            plot_sizes(self.out, self.plot)
        return summary

    def print_written(self, console: "Console") -> None:
        """Prints which files were written, how, and in what time."""
        seconds = time.perf_counter() - self.began
        console.print(f"Wrote {self.out} in {seconds:.1f} s (spread {self.spread}, seed {self.seed}).", soft_wrap=True)
        if self.plot is not None:
            console.print(f"Wrote {self.plot}.", soft_wrap=True)


def makes_establishments(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of the file to write. The function gets `states`, and the others as `output`."""

    @wraps(function)
    def command(out: Path, spread: str, seed: int, plot: Path | None, **options: Any) -> None:
        output = EstablishmentsFile(out, spread, seed, plot)
        output.require_writable()
        function(output=output, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command
