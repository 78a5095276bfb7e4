"""The report as a file in the folder of its release."""

from pathlib import Path

from gedp.files import write_text
from gedp.microdata import Microdata
from gedp.microdata.fit import MICRODATA
from gedp.microdata.on_file import BESIDE, read_description
from gedp.report.page import report_page

REPORT = "report.html"
MADE = (MICRODATA, BESIDE, REPORT)  # from a release, in its folder


def write_report(microdata: Microdata, path: Path | None = None, *, title: str | None = None) -> Path:
    """Writes the report of microdata that are on file, into the folder of their release unless told otherwise."""
    release = microdata.release
    path = path or release.folder / REPORT
    described = read_description(release)
    release.require_not_part(path, made=(BESIDE, MICRODATA))
    links = path.resolve().parent == release.folder.resolve()
    write_text(path, report_page(microdata, described, title=title, links=links))
    return path
