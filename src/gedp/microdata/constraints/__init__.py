"""Constraints on the microdata, off unless asked for: they trade bias for plausibility.

reduced      the least-squares problem of a finished fit, at the variances that it used
fixed        public totals from files and tables
equalities   totals held fixed
nonnegative  no value below 0
rounding     whole numbers whose totals stay within one unit; flow repairs them where groupings cross
apply        all of these, in this order, to one attribute
"""
