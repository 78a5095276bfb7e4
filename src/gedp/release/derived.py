"""The files that are made from a release and live in its folder beside it. The manifest does not sum them."""

from pathlib import Path

from gedp.release.parts import files_of

MICRODATA, MICRODATA_JSON, REPORT = "microdata.parquet", "microdata.json", "report.html"
SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
DERIVED = (MICRODATA, MICRODATA_JSON, REPORT, SUMS, SIGNATURE)


def derived_files(folder: Path) -> list[Path]:
    """Of the files that can be made from a release, those that exist in its folder; of a folder, its parts."""
    return [path for name in DERIVED if (folder / name).exists() for path in files_of(folder / name)]


def derived_names(folder: Path) -> list[str]:
    """Their names in the folder."""
    return [path.relative_to(folder).as_posix() for path in derived_files(folder)]


def drop_signature(folder: Path) -> None:
    """Removes the signature of a release, because a file that it covers is being made anew."""
    for name in (SIGNATURE, SUMS):
        (folder / name).unlink(missing_ok=True)
