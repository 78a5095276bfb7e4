"""The report of a release for the public: what is protected and how strongly, how accurate figures are, how to
use them.

numbers    no more digits than errors allow
errors     relative errors of the tables by size
totals     main totals of the microdata
charts     both as SVG
strength, use, check   the promise, the microdata, the checksums, in words
page       all of it on one page
write      the file; microdata that are in a release already
"""

from gedp.report.page import report_page
from gedp.report.write import write_report

__all__ = ["report_page", "write_report"]
