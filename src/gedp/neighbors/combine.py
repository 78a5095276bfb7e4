"""Combining two protections of one attribute into one.

`widen` has slope min(ψ_A'/γ_A, ψ_B'/γ_B): its intervals contain both, so it promises what each promises (paper,
theorem on combining neighbor functions). `narrow` has the maximum: its intervals lie inside both, so it states what
two publishers together still promise (theorem on heterogeneous composition). Either way the result is a neighbor
function with γ = 1.

The result is kept as pieces on which one of the two is in force. Where the two slopes cross, they cross at the roots
of a quadratic, because 1/ψ'² is a polynomial for sqrt, log and linear. Any other function is bounded instead: between
two points l < r a slope s that satisfies the conditions obeys

    max(s(r), l·s(l)/x)  ≤  s(x)  ≤  min(s(l), r·s(r)/x),

since s falls and x·s(x) rises. Both bounds satisfy the conditions themselves and are linear or logarithmic pieces, so
the containment is certain whatever the functions do in between. (If two such functions both start vertically at 0, the
narrowed one falls to −inf there: it then makes no promise about 0.)
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import DomainError
from gedp.neighbors.enclosing import Enclosure, as_written
from gedp.neighbors.functions import ROUNDING, Linear, Log, NeighborFunction, Signed, Sqrt, as_amounts, in_full
from gedp.neighbors.protection import Protection

NODES = np.geomspace(1e-9, 1e18, 3000)  # where functions without a closed form are looked at, ratio about 1.02
BISECTIONS = 36  # narrows a crossing to a relative width of about 1e-12
MOST_CELLS = 4000  # how many undecided cells are still worth bisecting


@dataclass(frozen=True)
class Piece:
    """From `start` on, slope psi'(x)/gamma."""

    start: float
    psi: NeighborFunction
    gamma: float


@dataclass(frozen=True)
class Piecewise(NeighborFunction):
    """A neighbor function made of pieces, each with the slope of another function, joined continuously."""

    pieces: tuple[Piece, ...]
    label: str

    @cached_property
    def _starts(self) -> FloatArray:
        return np.array([piece.start for piece in self.pieces])

    @cached_property
    def _anchors(self) -> tuple[FloatArray, FloatArray]:
        """For each piece a point and ψ there: its start, or its end where ψ falls without bound at 0."""
        points = self._starts.copy()
        values = np.zeros(len(points))
        first = self.pieces[0]
        if not np.isfinite(first.psi.at_zero):
            points[0] = points[1] if len(points) > 1 else 1.0
        for i in range(1, len(points)):
            piece = self.pieces[i - 1]
            values[i] = values[i - 1] + piece.psi.distance(points[i - 1], points[i]) / piece.gamma
        return points, values

    def _by_piece(self, index: npt.NDArray[np.intp]) -> Iterator[tuple[int, BoolArray]]:
        for i in np.unique(index):
            yield int(i), index == i

    def _piece_of(self, x: FloatArray) -> npt.NDArray[np.intp]:
        return np.searchsorted(self._starts, x, side="right") - 1

    @property
    def at_zero(self) -> float:
        """0, or −inf where the integral of the slope from 0 diverges."""
        return 0.0 if np.isfinite(self.pieces[0].psi.at_zero) else -np.inf

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""
        x = as_amounts(x, str(self))
        points, values = self._anchors
        result = np.empty(x.shape)
        for i, here in self._by_piece(self._piece_of(x)):
            piece = self.pieces[i]
            piece.psi(x[here])  # refuses what has no ψ
            result[here] = values[i] + piece.psi.distance(points[i], x[here]) / piece.gamma
        return result[()]

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """Piece by piece, from the inverse of each."""
        y = self._above_lowest(y)
        points, values = self._anchors
        joints = values.copy()
        joints[0] = -np.inf
        result = np.empty(y.shape)
        for i, here in self._by_piece(np.searchsorted(joints, y, side="right") - 1):
            piece = self.pieces[i]
            result[here] = piece.psi.moved(points[i], (y[here] - values[i]) * piece.gamma)
        return result[()]

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """The slope of the piece in force at x."""
        x = as_amounts(x, str(self))
        result = np.empty(x.shape)
        for i, here in self._by_piece(self._piece_of(x)):
            piece = self.pieces[i]
            result[here] = piece.psi.slope(x[here]) / piece.gamma
        return result[()]

    def inverse_curvature(self, x: npt.ArrayLike) -> FloatArray:
        """That of the piece in force at x."""
        x = as_amounts(x, str(self))
        result = np.empty(x.shape)
        for i, here in self._by_piece(self._piece_of(x)):
            piece = self.pieces[i]
            result[here] = piece.psi.inverse_curvature(x[here]) * piece.gamma**2
        return result[()]

    def distance(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """Added up over the pieces between x and y."""
        x, y = np.broadcast_arrays(as_amounts(x, str(self)), as_amounts(y, str(self)))
        low, high = np.minimum(x, y), np.maximum(x, y)
        first, last = self._piece_of(low), self._piece_of(high)
        points, values = self._anchors
        ends = np.append(self._starts[1:], np.inf)
        result: FloatArray = np.zeros(x.shape)
        for i, here in self._by_piece(first):
            piece = self.pieces[i]
            result[here] = piece.psi.distance(low[here], np.minimum(high[here], ends[i])) / piece.gamma
        for i, here in self._by_piece(last):
            here &= first < i
            piece = self.pieces[i]
            within_last = piece.psi.distance(points[i], high[here]) / piece.gamma
            result[here] += within_last + values[i] - values[first[here] + 1]
        result *= np.sign(y - x)
        return result[()]

    def enclosed(self, low: Fraction, high: Fraction, digits: int) -> Enclosure:
        """Added up over the pieces between the two."""
        starts = [as_written(piece.start) for piece in self.pieces]
        below = above = Fraction(0)
        for piece, start, end in zip(self.pieces, starts, [*starts[1:], high], strict=True):
            first, last = max(low, start), min(high, end)
            if first < last:
                least, most = piece.psi.enclosed(first, last, digits)
                below, above = below + least / as_written(piece.gamma), above + most / as_written(piece.gamma)
        return below, above

    def __str__(self) -> str:
        return self.label


def widen(a: Protection, b: Protection) -> Protection:
    """The protection whose intervals contain those of both.

    >>> both = widen(Protection(Sqrt(), 0.5), Protection(Linear(), 10))
    >>> print(both.interval(9).low, both.interval(9).high)  # ±10 is wider than √9 ± 0.5
    0.0 19.0
    """
    return _combine(a, b, np.minimum, "widened")


def narrow(a: Protection, b: Protection) -> Protection:
    """The protection whose intervals lie inside those of both."""
    return _combine(a, b, np.maximum, "narrowed")


def is_narrower(a: Protection, b: Protection) -> bool:
    """Whether some interval of a does not contain that of b around the same value, by more than rounding explains."""
    if isinstance(a.psi, Signed) and isinstance(b.psi, Signed):
        return is_narrower(Protection(a.psi.base, a.gamma), Protection(b.psi.base, b.gamma))
    _require_unsigned(a, b)
    rounded_up = Protection(a.psi, a.gamma * (1 + ROUNDING))
    return any(_is_steeper(*stretch) for stretch in _stretches(_pieces(rounded_up), _pieces(b)))


Pick = Callable[[FloatArray, FloatArray], FloatArray]


def _combine(a: Protection, b: Protection, pick: Pick, verb: str) -> Protection:
    if isinstance(a.psi, Signed) and isinstance(b.psi, Signed):
        sides = _combine(Protection(a.psi.base, a.gamma), Protection(b.psi.base, b.gamma), pick, verb)
        return Protection(Signed(sides.psi), 1.0)
    _require_unsigned(a, b)
    label = f"{verb} from ({a.psi})/{in_full(a.gamma)} and ({b.psi})/{in_full(b.gamma)}"
    pieces_a, pieces_b = _pieces(a), _pieces(b)
    if pieces_a == pieces_b:
        return Protection(Piecewise(pieces_a, str(a.psi) if isinstance(a.psi, Piecewise) else label), 1.0)
    pieces = [piece for stretch in _stretches(pieces_a, pieces_b) for piece in _pick_between(*stretch, pick)]
    merged = [pieces[0]]
    for piece in pieces[1:]:
        if (piece.psi, piece.gamma) != (merged[-1].psi, merged[-1].gamma):
            merged.append(piece)
    return Protection(Piecewise(tuple(merged), label), 1.0)


def _require_unsigned(a: Protection, b: Protection) -> None:
    if isinstance(a.psi, Signed) or isinstance(b.psi, Signed):
        raise DomainError("a signed protection can only be combined with another signed one")


def _stretches(a: tuple[Piece, ...], b: tuple[Piece, ...]) -> Iterator[tuple[Piece, Piece, float, float]]:
    """Between which points which pieces of both are in force."""
    joints = sorted({piece.start for piece in (*a, *b)})
    for low, high in zip(joints, [*joints[1:], np.inf], strict=True):
        in_a, in_b = (ps[bisect_right(ps, low, key=lambda piece: piece.start) - 1] for ps in (a, b))
        yield in_a, in_b, low, high


def _pieces(protection: Protection) -> tuple[Piece, ...]:
    if isinstance(protection.psi, Piecewise):
        return tuple(Piece(p.start, p.psi, p.gamma * protection.gamma) for p in protection.psi.pieces)
    return (Piece(0.0, protection.psi, protection.gamma),)


def _inverse_slope_squared(psi: NeighborFunction) -> FloatArray | None:
    """The coefficients of 1/ψ'(x)², highest power first, where it is a polynomial."""
    match psi:
        case Linear():
            return np.array([0.0, 0.0, 1.0])
        case Sqrt(shift):
            return np.array([0.0, 4.0, 4.0 * shift])
        case Log(shift):
            return np.array([1.0, 2.0 * shift, shift * shift])
        case _:
            return None


def _difference(a: Piece, b: Piece) -> FloatArray | None:
    """The coefficients of a polynomial that is negative where a is steeper, if there is one."""
    polynomial_a, polynomial_b = _inverse_slope_squared(a.psi), _inverse_slope_squared(b.psi)
    if polynomial_a is None or polynomial_b is None:
        return None
    ratio = a.gamma / b.gamma
    if not 1e-100 < ratio < 1e100:
        raise DomainError("the two distances are too far apart to combine")
    return ratio * polynomial_a - polynomial_b / ratio


def _is_steeper(a: Piece, b: Piece, low: float, high: float) -> bool:
    """Whether a is steeper somewhere between `low` and `high`; of functions without a closed form, if it may be."""
    if a.psi == b.psi:
        return a.gamma < b.gamma
    difference = _difference(a, b)
    if difference is None:
        return any((p.psi, p.gamma) != (b.psi, b.gamma) for p in _bounded_between(b, a, low, high, np.maximum))
    c2, c1, _ = difference
    points = [low]
    if np.isfinite(high):
        points.append(high)
    elif next((c for c in difference if c), 0.0) < 0:
        return True
    if c2 > 0 and low < -c1 / (2 * c2) < high:
        points.append(-c1 / (2 * c2))
    return bool(np.any(np.polyval(difference, points) < 0))


def _pick_between(a: Piece, b: Piece, low: float, high: float, pick: Pick) -> list[Piece]:
    """The pieces with the picked slope between `low` and `high`, on which each of a and b is one function."""
    difference = _difference(a, b)
    if difference is None:
        return _bounded_between(a, b, low, high, pick)
    roots = _roots(difference)
    starts = [low, *(root for root in roots if low < root < high)]
    pieces = []
    for start, end in zip(starts, [*starts[1:], high], strict=True):
        inside = (start + end) / 2 if np.isfinite(end) else 2 * start + 1
        slope_a, slope_b = a.psi.slope(inside) / a.gamma, b.psi.slope(inside) / b.gamma
        chosen = a if pick(slope_a, slope_b) == slope_a else b
        pieces.append(Piece(start, chosen.psi, chosen.gamma))
    return pieces


def _roots(quadratic: FloatArray) -> list[float]:
    """The real roots in increasing order, without cancellation."""
    c2, c1, c0 = (float(c) for c in quadratic)
    if c2 == 0:
        return [-c0 / c1] if c1 else []
    discriminant = c1 * c1 - 4 * c2 * c0
    if discriminant < 0:
        return []
    far = -(c1 + np.copysign(np.sqrt(discriminant), c1)) / 2
    return sorted({far / c2, c0 / far if far else 0.0})


def _bounded_between(a: Piece, b: Piece, low: float, high: float, pick: Pick) -> list[Piece]:
    """Sound pieces for functions of which only single values are known: a or b where one surely has the picked
    slope, bounds of the module's docstring elsewhere.
    """
    widening = pick is np.minimum

    def slopes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return a.psi.slope(x) / a.gamma, b.psi.slope(x) / b.gamma

    def surely(left: FloatArray, right: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Whether a, and whether b, has the picked slope throughout each cell."""
        (a_left, b_left), (a_right, b_right) = slopes(left), slopes(right)
        with np.errstate(invalid="ignore"):  # 0·inf at 0 decides nothing
            a_below = (a_left <= b_right) | (right * a_right <= left * b_left)
            b_below = (b_left <= a_right) | (right * b_right <= left * a_left)
        return (a_below, b_below) if widening else (b_below, a_below)

    inner = NODES[(low < NODES) & (high > NODES)]
    nodes = np.array([low, *inner] if np.isinf(high) else [low, *inner, high])
    left, right = nodes[:-1], nodes[1:]
    done: list[tuple[float, float, Piece | None]] = []
    for bisection in range(BISECTIONS + 1):
        is_a, is_b = surely(left, right)
        done += [(x, y, a) for x, y in zip(left[is_a], right[is_a], strict=True)]
        done += [(x, y, b) for x, y in zip(left[is_b & ~is_a], right[is_b & ~is_a], strict=True)]
        open_cells = ~(is_a | is_b)
        left, right = left[open_cells], right[open_cells]
        if bisection == BISECTIONS or not left.size or left.size > MOST_CELLS:
            break
        middle = np.where(left > 0, np.sqrt(left * right), right / 4)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    done += [(x, y, None) for x, y in zip(left, right, strict=True)]
    if np.isinf(high):
        done.append((float(nodes[-1]), np.inf, None))

    pieces: list[Piece] = []
    for start, end, owner in sorted(done, key=lambda cell: cell[0]):
        if owner is not None:
            pieces.append(Piece(start, owner.psi, owner.gamma))
        else:
            at_start, at_end = pick(*slopes(np.array([start, end if np.isfinite(end) else start])))
            pieces += _bound(start, end, float(at_start), float(at_end), widening)
    return pieces


def _bound(start: float, end: float, at_start: float, at_end: float, below: bool) -> list[Piece]:
    """Linear and logarithmic pieces below (or above) every slope that takes these values at the ends."""
    if np.isinf(end):  # to infinity: the slope may fall as 1/x at most, or stay
        return [Piece(start, Log(), 1 / (start * at_start)) if below else Piece(start, Linear(), 1 / at_start)]
    if below:  # falls as 1/x until it has come down to the slope at the end
        turn = start * at_start / at_end if start > 0 else 0.0
        falling = [Piece(start, Log(), 1 / (start * at_start))] if turn > start else []
        return [*falling, Piece(max(turn, start), Linear(), 1 / at_end)]
    turn = end * at_end / at_start  # stays until a fall as 1/x leads to the slope at the end
    flat = [Piece(start, Linear(), 1 / at_start)] if turn > start else []
    return [*flat, Piece(max(turn, start), Log(), 1 / (end * at_end))]
