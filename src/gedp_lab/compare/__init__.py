"""The same table and budget through several workflows, again and again, each time compared with the truth. Internal.

workflows     mechanisms and weights
sweeps        other ways to divide the budget
plan          what every replicate does
rehearsals    one replicate: the errors of every group; estimates: of baselines without a fit
workers       numbered work in several processes
replicates    the files of all replicates, in a closed folder
results       what they say: accuracy, bias, coverage, and who wins
document      tables and figures, for the terminal and for a page
comparison    the results, read from the files and written with their page
"""

from gedp_lab.compare.comparison import Comparison
from gedp_lab.compare.replicates import compare

__all__ = ["Comparison", "compare"]
