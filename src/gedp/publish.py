"""What follows a release, in one step: microdata and report, written into its folder. Never sees the truth."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gedp.microdata import Microdata, fit_microdata
from gedp.release import Release
from gedp.report import write_report


@dataclass(frozen=True)
class Published:
    """A release with its microdata and its report."""

    microdata: Microdata
    microdata_file: Path
    report_file: Path


def publish(release: Release, *, step: Callable[[str], None] | None = None) -> Published:
    """Fits the microdata and writes them and the report; `step` hears what is being done.

    Whatever stops this, the release is complete without it; the error says so, and how to go on.
    """
    say = step or (lambda _: None)
    try:
        say("fitting the microdata")
        microdata = fit_microdata(release)
        microdata_file = microdata.write()
        say("writing the report")
        return Published(microdata, microdata_file, write_report(microdata))
    except BaseException as failure:
        folder = release.folder
        failure.add_note(
            f"The release in {folder} is complete and valid, but its microdata or report are missing. Go on with: "
            f"gedp microdata {folder} && gedp report {folder}"
        )
        raise
