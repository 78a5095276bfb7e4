"""One protected table that fits all the answers of a release best. Sees the release and nothing else.

cells     rows, their keys, finest cells and groups
problem   what the release says about one attribute
solve     weighted least squares over the cells
weights   plug-in and quasi
pooled    the answers for the rows of a cell as one answer for its total
kinds     rows that stay on file, as those of too many establishments for memory do; by_kind: their fit
measured  groups that determine no cells, made to agree
constraints   no negatives, whole numbers, fixed totals: where asked for
fitted    the result: values, described, written
on_file   those in the folder of a release, fitted again and compared; what tables are made of
tabulate  custom tables: variances (of any group), ratios (and their naming)
comparing     what changed since another release, by `changes` (the mathematics) of what is `comparable`;
              series_table: of several in a row
qcew      the layout of the BLS; nothing else in this room knows it
fit       the way in: fits all attributes, and offers tables of the result
"""

from gedp.microdata.fit import Microdata, fit_microdata
from gedp.microdata.on_file import read_microdata
from gedp.microdata.series_table import tabulate_series

__all__ = ["Microdata", "fit_microdata", "read_microdata", "tabulate_series"]
