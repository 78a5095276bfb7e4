"""How far a release is from the truth. Internal: this sees the table, and its results are as confidential as that.

levels        which groupings, and which figures
truth         the table, checked against the release
groups        protected beside true, group by group
metrics       errors in numbers; figures: in pictures
results       all of it for one release
document      tables and figures, for the terminal and for a page
evaluation    makes the results and writes them
folder        where results go: closed, stamped, whole or absent; pages: what their pages have in common
"""

from gedp_lab.evaluate.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
