"""The registry of formats of tables: for packages, for downloads of the desk, and for files of commands."""

from gedp.publication.arrow import ARROW
from gedp.publication.format import AsFile, Format, InPackage
from gedp.publication.parquet import PARQUET
from gedp.publication.plain import CSV
from gedp.publication.sdmx import SDMX
from gedp.publication.workbook import XLSX

FORMATS: tuple[Format, ...] = (CSV, PARQUET, XLSX, SDMX, ARROW)
#: Those that one table can be written in, and those of packages, by name.
AS_FILES: dict[str, AsFile] = {each.name: each.as_file for each in FORMATS if each.as_file}
IN_PACKAGES: dict[str, InPackage] = {each.name: each.in_package for each in FORMATS if each.in_package}
