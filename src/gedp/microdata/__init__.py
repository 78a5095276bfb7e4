"""One protected table that fits all the answers of a release best. Sees the release and nothing else.

cells     the reduction: rows, finest cells, groups
solve     weighted least squares over the cells
weights   plug-in and quasi
"""
