"""Cells from the published QCEW: read its files, check that they nest, fill what is suppressed, top-down.

In reading order: `read`, `tree`, `typical`, `fill`.
"""
