"""The package for the public: titled tables in which everything adds up, with counts, errors and quality flags.

chosen     which tables; figures: what is in them, by rounding and quality
ratios     averages and changes beside totals
changes    tables of what changed since an earlier release
about      what a package says about itself: description, dictionary, README; markdown: texts in it, escaped
formats    the registry of formats of tables; plain, parquet, workbook, sdmx write them
establishments   rows, where they are asked for
package    the folder: whole or absent, with checksums and signature
verify     whether a package is as it was made, and signed
"""

from gedp.publication.figures import Presentation
from gedp.publication.formats import IN_PACKAGES
from gedp.publication.package import Package, PackageOptions, write_package
from gedp.publication.quality import Quality, parse_quality

__all__ = ["IN_PACKAGES", "Package", "PackageOptions", "Presentation", "Quality", "parse_quality", "write_package"]
