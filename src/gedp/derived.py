"""The files that are made from a release and live in its folder beside it. The manifest does not sum them."""

from pathlib import Path

MICRODATA, BESIDE, REPORT = "microdata.parquet", "microdata.json", "report.html"
DERIVED = (MICRODATA, BESIDE, REPORT)


def derived_files(folder: Path) -> list[Path]:
    """Those that are there."""
    return [folder / name for name in DERIVED if (folder / name).exists()]
