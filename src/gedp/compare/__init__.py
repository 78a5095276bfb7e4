"""The same table and budget through several workflows, again and again, each time compared with the truth. Internal.

workflows     mechanisms and weights
sweeps        other ways to divide the budget
replicates    rehearsals of a release, and the errors of every group
comparison    what they say: accuracy, bias, coverage, and who wins
"""
