"""Noise as agencies add it today, and mechanisms that others propose, to compare with.

ezs           multiplicative noise with permanent factors
formal        mechanisms of others with a formal guarantee
translation   their parameters in terms of ours
workflows     those with noise as workflows of `gedp compare`
"""
