"""Noise: the one door to randomness, exact rounded Gaussians, and the grids on which they protect a statistic.

entropy    keystream of the operating system, or of a seed for tests
gaussian   rounded Gaussians, vectorised; settle decides the roundings that floats cannot
grid       real numbers such as ψ of a sum: rounding and floating point charged to the sensitivity
sums       whole numbers, nothing charged

The argument that what comes out is exactly μ-gedp is in docs/proofs/noise.md.
"""

from gedp.noise.entropy import Entropy, EntropyError, SeededEntropy, SystemEntropy
from gedp.noise.gaussian import rounded_gaussian, scaled_gaussian
from gedp.noise.grid import Grid, grid_for, psi_grid
from gedp.noise.sums import SumGrid, sum_grid_for

__all__ = [
    "Entropy",
    "EntropyError",
    "Grid",
    "SeededEntropy",
    "SumGrid",
    "SystemEntropy",
    "grid_for",
    "psi_grid",
    "rounded_gaussian",
    "scaled_gaussian",
    "sum_grid_for",
]
