"""Hypothesis strategies shared by the tests."""

from functools import reduce

from hypothesis import strategies as st

from gedp.neighbors import Linear, Log, NeighborFunction, Protection, Sqrt, narrow, widen

values = st.one_of(st.just(0.0), st.floats(1e-3, 1e12), st.integers(1, 10**12).map(float))
positive_values = st.one_of(st.floats(1e-3, 1e12), st.integers(1, 10**12).map(float))
positive_shifts = st.floats(1e-3, 1e6)
shifts = st.one_of(st.just(0.0), positive_shifts)
gammas = st.floats(1e-2, 1e3)
log_gammas = st.floats(1e-3, 2.0)


def _protection_of(psi: NeighborFunction) -> st.SearchStrategy[Protection]:
    distances = log_gammas if isinstance(psi, Log) else gammas
    return distances.map(lambda gamma: Protection(psi, gamma))


def _combined(basic: st.SearchStrategy[Protection]) -> st.SearchStrategy[Protection]:
    combinations = st.tuples(st.lists(basic, min_size=2, max_size=4), st.sampled_from([widen, narrow]))
    return combinations.map(lambda parts: reduce(parts[1], parts[0]))


def _any(basic: st.SearchStrategy[Protection]) -> st.SearchStrategy[Protection]:
    rescaled = st.tuples(_combined(basic), st.floats(0.3, 3)).map(lambda pg: Protection(pg[0].psi, pg[1]))
    return st.one_of(basic, _combined(basic), rescaled)


finite_functions: st.SearchStrategy[NeighborFunction] = st.one_of(  # at 0
    shifts.map(Sqrt), positive_shifts.map(Log), st.just(Linear()), st.just(Sqrt())
)
functions: st.SearchStrategy[NeighborFunction] = st.one_of(
    shifts.map(Sqrt), shifts.map(Log), st.just(Linear()), st.just(Sqrt()), st.just(Log())
)
basic_protections = functions.flatmap(_protection_of)
combined_protections = _combined(basic_protections)
protections = _any(basic_protections)
finite_protections = _any(finite_functions.flatmap(_protection_of))
