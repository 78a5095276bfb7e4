"""What errors to expect, and the settings of individual accounting that make them small. Sees public values alone.

prediction   the errors of every table, from the covariance of the fit
choice       fractions, τ and μ of the first answers
"""
