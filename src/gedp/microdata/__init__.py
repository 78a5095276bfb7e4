"""One protected table that fits all the answers of a release best. Sees the release and nothing else.

cells     rows, their keys, finest cells and groups
solve     measurements (groups of cells with answers and variances), fitted by weighted least squares
answers   the answers of any query as measurements: for groups of cells, or as entries of their own
problem   what the release says about one attribute
weights   plug-in and quasi
pooled    the answers for the rows of a cell as one answer for its total
kinds     rows that stay on file, as those of too many establishments for memory do; by_kind: their fit
agreement     entries that determine no cells, or are by classes: made to agree, and to add up to what is known
constraints   no negatives, whole numbers, fixed totals: where asked for
fitted    the result: values, described, written
on_file   those in the folder of a release, fitted again and compared; what tables are made of
request   what a table is asked for
tabulate  custom tables: row_totals with variances (of any group), class_tables, combinations, ratios (and their naming)
comparing     what changed since another release, by `changes` (the mathematics) of what is `comparable`;
              series_table: of several in a row
qcew      the layout of the BLS; nothing else in this room knows it
fit       the way in: fits all attributes, and offers tables of the result
"""

from gedp.microdata.fit import Microdata, fit_microdata
from gedp.microdata.on_file import read_microdata
from gedp.microdata.series_table import tabulate_series

__all__ = ["Microdata", "fit_microdata", "read_microdata", "tabulate_series"]
