"""What follows a release, in one step: microdata and report, written into its folder. Never sees the truth."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gedp.microdata import Microdata, fit_microdata
from gedp.microdata.fitted import NO_ROWS
from gedp.numbers import counted
from gedp.passes import OnFile
from gedp.progress import NextStep, silent
from gedp.release import ReleaseFolder
from gedp.release.derived import REPORT
from gedp.report import write_report
from gedp.report.totals import main_totals
from gedp.report.write import title_of


@dataclass(frozen=True)
class Completed:
    """A release with its microdata and its report."""

    microdata: Microdata
    microdata_file: Path | None  # None where the answers determine no microdata
    report_file: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """What was written."""
        return (*([self.microdata_file] if self.microdata_file else []), self.report_file)

    @property
    def summary(self) -> str:
        """What there is now, and what there is not, in a few sentences."""
        microdata, said = self.microdata, []
        if self.microdata_file:
            rows = microdata.public_rows
            noun = "row" if rows.lists_establishments else "group"
            said.append(f"Fitted {counted(rows.listed, noun)} of microdata to all answers: {self.microdata_file}")
            said += [f"{name}: {microdata.meaning(name)}" for name in microdata.measured]
        else:
            said.append(f"{NO_ROWS[0].upper()}{NO_ROWS[1:]}; gedp tabulate makes tables of what was measured")
        return ". ".join([*said, f"The report for the public: {self.report_file}."])


def complete(release: ReleaseFolder, *, step: NextStep = silent, on_file: OnFile | None = None) -> Completed:
    """Fits the microdata and writes them and the report; `step` hears what is being done.

    With `on_file` the establishments stay on file: see `fit_microdata`.

    Whatever stops this, the release is complete without it; the error says so, and how to go on.
    """
    folder, missing = release.folder, ["microdata", "report"]
    try:
        step("fitting the microdata")
        microdata = fit_microdata(release, on_file=on_file)
        missing = missing if microdata.fits else ["report"]
        with ThreadPoolExecutor(1, thread_name_prefix="gedp-totals") as thread:
            totals = thread.submit(main_totals, microdata)
            microdata_file = microdata.write() if microdata.fits else None
            step("writing the report")
            return Completed(microdata, microdata_file, write_report(microdata, totals=totals.result()))
    except BaseException as failure:
        failure.add_note(
            f"The release in {folder} is complete and valid, but without its {' or '.join(missing)}. Go on with: "
            + " && ".join(f"gedp {command} {folder}" for command in missing)
        )
        raise


def replace_microdata(microdata: Microdata) -> tuple[Path, Path | None]:
    """Writes microdata into the folder of their release, and a report that is there again, under the title it had.

    The report goes before the microdata that it is about, so that at no time it describes others.
    """
    report = microdata.release.folder / REPORT
    had_report, title = report.exists(), title_of(report)
    path = microdata.write()
    if not had_report:
        return path, None
    try:
        return path, write_report(microdata, title=title)
    except BaseException as failure:
        folder = microdata.release.folder
        failure.add_note(f"The microdata are written; the report before is gone. Go on with: gedp report {folder}")
        raise
