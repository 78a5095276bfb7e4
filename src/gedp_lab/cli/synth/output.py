"""What the commands that make establishments share: the options of the file they write, and how they end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gedp.cli.options import PATH

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from gedp.cli.progress import Steps
    from gedp_lab.synth.establishments import Summary
    from gedp_lab.synth.spreads import SpreadSettings

POSITIVE = click.FloatRange(min=0, min_open=True)
_SPREADS = {
    "classes": "by CBP's size classes",
    "skewed": "a few hold most of it",
    "paper": "nearly alike, as in the paper",
}
_USED_BY = {"gamma": "paper", "establishment_eta": "paper", "size_spread": "skewed"}


def _options(spreads: tuple[str, ...]) -> tuple[Callable[[Callable[..., None]], Callable[..., None]], ...]:
    meanings = "; ".join(f"{name}: {_SPREADS[name]}" for name in spreads)
    return (
        click.option(
            "--state", "states", multiple=True, help="State, by postal or FIPS code; may be repeated. Default: all."
        ),
        click.option("--out", type=PATH, required=True, help="Parquet file to write."),
        click.option(
            "--spread",
            type=click.Choice(spreads),
            default=spreads[0],
            show_default=True,
            help=f"How a cell is divided among its establishments ({meanings}).",
        ),
        click.option(
            "--gamma",
            type=(POSITIVE, POSITIVE),
            metavar="SHAPE SCALE",
            help="Gamma distribution of the concentrations; only with --spread paper.  [default: 10 200]",
        ),
        click.option(
            "--establishment-eta",
            type=POSITIVE,
            help="Noise in month 2 of an establishment; only with --spread paper.  [default: 0.5]",
        ),
        click.option(
            "--size-spread",
            type=POSITIVE,
            help="Standard deviation of the logarithm of size; only with --spread skewed.  [default: 1.3]",
        ),
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random draws."
        ),
        click.option(
            "--times",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Write all establishments so many times, each time with fresh ids: a large table to try things on.",
        ),
        click.option("--plot", type=PATH, help="Also plot the size distribution (.png, .svg, .pdf)."),
    )


@dataclass(frozen=True)
class EstablishmentsFile:
    """The file of establishments that a command writes."""

    out: Path
    spread: str
    seed: int
    plot: Path | None
    settings: "SpreadSettings"
    times: int = 1
    began: float = field(default_factory=time.perf_counter)

    def require_writable(self) -> None:
        """Rejects names that cannot be written, before the long work rather than after it."""
        from gedp.files import require_writable
        from gedp_lab.synth.plots import check_plot

        require_writable(self.out)
        if self.plot is not None:
            check_plot(self.plot)

    def write(self, cells: "pa.Table", year: int, quarter: int, at: "Steps") -> "Summary":
        """Makes the establishments of the cells and plots them if asked to."""
        from gedp_lab.synth.establishments import write_establishments
        from gedp_lab.synth.plots import plot_sizes

        at.step("writing establishments", self.times * int(cells["estabs"].to_numpy().sum()))
        options = {"year": year, "quarter": quarter, "seed": self.seed, "times": self.times}
        summary = write_establishments(
            cells, self.out, spread=self.spread, settings=self.settings, progress=at.advance, **options
        )
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


def makes_establishments(*spreads: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options of the file to write, with these spreads, the first of them by default. The function gets
    `states`, and the others as `output`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(out: Path, spread: str, seed: int, times: int, plot: Path | None, **options: Any) -> None:
            settings = _settings(spread, {name: options.pop(name) for name in _USED_BY})
            output = EstablishmentsFile(out, spread, seed, plot, settings, times)
            output.require_writable()
            function(output=output, **options)

        for option in reversed(_options(spreads)):
            command = option(command)
        return command

    return decorate


def _settings(spread: str, given: dict[str, Any]) -> "SpreadSettings":
    from gedp_lab.synth.spreads import SpreadSettings

    idle = [name for name, value in given.items() if value is not None and _USED_BY[name] != spread]
    if idle:
        named = "; ".join(f"--{name.replace('_', '-')} is for --spread {_USED_BY[name]}" for name in idle)
        raise click.UsageError(f"{named}: leave it out, or choose that spread")
    shape, scale = given["gamma"] or (None, None)
    values = {
        "gamma_shape": shape,
        "gamma_scale": scale,
        "eta": given["establishment_eta"],
        "size_spread": given["size_spread"],
    }
    return SpreadSettings(**{name: value for name, value in values.items() if value is not None})
