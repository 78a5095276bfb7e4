"""Numerical check of the four conditions on a neighbor function.

Conditions 3 and 4 are looked at through one number, the elasticity of the slope, e(x) = −x·ψ''(x)/ψ'(x), taken from
the secant slopes of neighbouring cells of a geometric grid: ψ is concave where e ≥ 0, and ψ(eˣ) is convex where e ≤ 1
(it is 0 for linear, ½ for sqrt, 1 for log). A kink of a piecewise linear function is a point where e is infinite, so
around the largest values the grid is refined until a kink, however slight, stands out from the rounding of ψ.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gedp.arrays import FloatArray
from gedp.errors import DomainError, GedpError
from gedp.neighbors.functions import Signed

CONDITIONS = {1: "strictly increasing", 2: "continuous", 3: "concave", 4: "psi(exp(x)) convex"}
GRID_RATIO = 1.01
ZOOMS = 8
ZOOM_FACTOR = 4
ZOOM_CELLS = 48  # the most suspicious cells are looked at closely ...
SPREAD_CELLS = 32  # ... and some all over, since a kink in every cell makes none stand out
JUMP = 1e-3  # a step by more than this share of the rise around it counts as a jump

Function = Callable[[float], float] | Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class ConditionFailure:
    """A condition that does not hold, the place where it is seen, and what was seen there."""

    condition: int
    x: float
    detail: str

    def __str__(self) -> str:
        return f"condition {self.condition} ({CONDITIONS[self.condition]}) fails near x = {self.x:.6g}: {self.detail}"


class NotANeighborFunctionError(GedpError):
    """The function fails one or more of the four conditions."""

    def __init__(self, failures: tuple[ConditionFailure, ...]) -> None:
        self.failures = failures
        super().__init__("not a neighbor function: " + "; ".join(map(str, failures)))


def require_neighbor_function(f: Function) -> None:
    """Raises NotANeighborFunctionError unless f passes the check."""
    if failures := check_neighbor_function(f):
        raise NotANeighborFunctionError(failures)


def check_neighbor_function(f: Function, low: float = 1e-6, high: float = 1e12) -> tuple[ConditionFailure, ...]:
    """The conditions that f fails between 0 and `high`, looked at closely from `low` on; empty when all four hold.

    f may take numbers or arrays.

    >>> check_neighbor_function(np.sqrt)
    ()
    >>> for failure in check_neighbor_function(lambda x: 10 * x if x <= 10 else x / 100 + 99.9):
    ...     print(failure.condition, round(failure.x, 3))
    4 10.0
    """
    if isinstance(f, Signed):
        raise DomainError("check the function that was extended: the conditions are about values of 0 or more")
    if not 0 < low < high < np.inf:
        raise DomainError(f"the range must be from a number above 0 to a larger one, not {low} to {high}")
    evaluate = _over_arrays(f)
    x = np.geomspace(low, high, int(np.ceil(np.log(high / low) / np.log(GRID_RATIO))) + 1)
    y = evaluate(x)
    if not np.isfinite(y).all():
        return (ConditionFailure(2, float(x[~np.isfinite(y)][0]), "it has no finite value there"),)
    graph = _Graph(evaluate, x, y, _rounding(evaluate, x, y))
    found = [_increasing(graph), _jump_at_zero(graph) or _jump(graph), *_curvature(graph)]
    return tuple(failure for failure in found if failure)


def _over_arrays(f: Callable[..., object]) -> Callable[[FloatArray], FloatArray]:
    """f over arrays, whether it takes arrays or one number at a time."""

    def evaluate(x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            try:
                y = np.asarray(f(x), dtype=np.float64)
                if y.shape == x.shape:
                    return y
            except (TypeError, ValueError):
                pass
            return np.array([f(float(value)) for value in x], dtype=np.float64)

    return evaluate


@dataclass(frozen=True)
class _Graph:
    """ψ on a geometric grid, with a bound on the rounding error of each value."""

    evaluate: Callable[[FloatArray], FloatArray]
    x: FloatArray
    y: FloatArray
    rounding: FloatArray

    def around(self, cell: int, left: float, right: float, points: int) -> "_Graph":
        """A finer graph from `left` to `right`, near the given cell of this one."""
        x = np.geomspace(left, right, points)
        near = float(self.rounding[max(cell - 1, 0) : cell + 4].max())
        return _Graph(self.evaluate, x, self.evaluate(x), np.full(points, near))


def _rounding(evaluate: Callable[[FloatArray], FloatArray], x: FloatArray, y: FloatArray) -> FloatArray:
    """How far the computed ψ may be off: at least some units in the last place, and more where it scatters.

    A fourth difference over a tiny stretch vanishes for a smooth function, so what is left is scatter. The median
    over neighbouring points leaves out kinks and jumps, which are not scatter.
    """
    around = [evaluate(x * (1 + step * 1e-4)) for step in (-2, -1, 1, 2)]
    scatter = np.abs(around[0] - 4 * around[1] + 6 * y - 4 * around[2] + around[3])
    windows = sliding_window_view(np.pad(scatter, 4, mode="edge"), 9)
    bound: FloatArray = np.maximum(16 * np.spacing(np.abs(y)), 4 * np.median(windows, axis=1))
    return bound


def _increasing(graph: _Graph) -> ConditionFailure | None:
    """From 1 on every grid point must be above the one before; below 1 rounding may hide the rise."""
    rise = np.diff(graph.y)
    falls = np.where(graph.x[:-1] >= 1, rise <= 0, rise < -graph.rounding[:-1])
    if not falls.any():
        return None
    at = int(np.argmax(falls))
    return ConditionFailure(1, float(graph.x[at]), "it does not rise" if rise[at] == 0 else "it falls")


def _jump_at_zero(graph: _Graph) -> ConditionFailure | None:
    """ψ(0) must be the limit from above; it may be absent or −inf, as for log(x)."""
    try:
        at_zero, near_zero = graph.evaluate(np.array([0.0, 1e-300]))
    except (GedpError, ArithmeticError, ValueError):
        return None
    if at_zero == -np.inf:
        return None
    if not np.isfinite(at_zero):
        return ConditionFailure(2, 0.0, "it has no value at 0")
    rise_to_one = abs(float(np.interp(1.0, graph.x, graph.y)) - at_zero)
    if abs(near_zero - at_zero) > JUMP * rise_to_one + graph.rounding[0]:
        return ConditionFailure(2, 0.0, "it jumps at 0")
    return None


def _jump(graph: _Graph) -> ConditionFailure | None:
    """Follows the cells that are steeper than their neighbours down to neighbouring floats."""
    rise = np.abs(np.diff(graph.y))
    neighbours = np.maximum(np.append(rise[1:], rise[-1]), np.append(rise[0], rise[:-1]))
    excess = rise - neighbours - 2 * graph.rounding[:-1]
    for i in np.argsort(excess)[: -ZOOM_CELLS - 1 : -1]:
        if excess[i] <= 0:
            break
        left, right = float(graph.x[i]), float(graph.x[i + 1])
        while (middle := (left + right) / 2) not in (left, right):
            first, second = np.abs(np.diff(graph.evaluate(np.array([left, middle, right]))))
            left, right = (left, middle) if first > second else (middle, right)
        at_left, at_right = graph.evaluate(np.array([left, right]))
        if abs(at_right - at_left) > max(JUMP * rise[i], 4 * graph.rounding[i]):
            return ConditionFailure(2, left, "it jumps")
    return None


def _elasticity(graph: _Graph) -> tuple[FloatArray, FloatArray]:
    """e at the inner points of a graph, and a bound on what rounding can do to it."""
    smallest = np.finfo(float).tiny
    rise = np.maximum(np.diff(graph.y), smallest)
    noise = np.minimum((graph.rounding[:-1] + graph.rounding[1:]) / rise, 1e100)
    log_secant = np.log(np.maximum(rise / np.diff(graph.x), smallest))
    spacing = np.diff(np.log((graph.x[:-1] + graph.x[1:]) / 2))
    return -np.diff(log_secant) / spacing, (noise[:-1] + noise[1:]) / spacing


def _curvature(graph: _Graph) -> list[ConditionFailure]:
    """Conditions 3 and 4 on the grid and on finer grids around its extremes."""
    worst: dict[int, tuple[float, float]] = {}

    def record(graph: _Graph) -> tuple[FloatArray, FloatArray]:
        e, noise = _elasticity(graph)
        # Secants are off by the square of the cell's width where ψ is smooth.
        slack = noise + np.log(graph.x[1] / graph.x[0]) ** 2
        for condition, excess in ((3, -e - slack), (4, e - 1 - slack)):
            at = int(np.argmax(excess))
            if excess[at] > worst.get(condition, (0.0, 0.0))[0]:
                worst[condition] = (float(excess[at]), float(graph.x[at + 1]))
        return e, noise

    e, noise = record(graph)
    change = np.abs(np.diff(e, prepend=e[0])) + np.abs(np.diff(e, append=e[-1])) - 4 * noise
    suspects = [i for i in np.argsort(change)[: -ZOOM_CELLS - 1 : -1] if change[i] > 0]
    for i in [*suspects, *range(0, len(change), max(1, len(change) // SPREAD_CELLS))]:
        left, right = float(graph.x[i]), float(graph.x[i + 2])
        for _ in range(ZOOMS):
            finer = graph.around(i, left, right, 2 * ZOOM_FACTOR + 1)
            fine_e, fine_noise = record(finer)
            if fine_noise.min() > 1:
                break
            at = int(np.argmax(np.abs(fine_e - np.median(fine_e))))
            left, right = float(finer.x[at]), float(finer.x[at + 2])

    said = {
        3: "the intervals shrink in absolute terms as values grow",
        4: "the intervals widen relative to the value as values grow",
    }
    return [ConditionFailure(c, worst[c][1], said[c]) for c in sorted(worst)]
