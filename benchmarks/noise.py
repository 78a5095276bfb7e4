"""Time of exact draws against NumPy's normal and OpenDP's Gaussian, in one run.

Aims: at most 2.5 times NumPy's time, at least 1,000 times as fast as OpenDP's float Gaussian. The best of several
rounds counts, each taking all contestants in turn, so that a busy machine disturbs all alike. OpenDP is optional.
"""

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version

import numpy as np

from gedp.noise import SystemEntropy, gaussian, rounded_gaussian


def seconds(draw: Callable[[int], object], n: int) -> tuple[float, float]:
    """Wall-clock and processor time of one call."""
    wall, processor = time.perf_counter(), time.process_time()
    draw(n)
    return time.perf_counter() - wall, time.process_time() - processor


def opendp_gaussian(n: int, grid_exponent: int | None) -> Callable[[int], object] | None:
    """OpenDP's measurement with noise of scale 1 on float vectors, on multiples of 2**grid_exponent (None: its own)."""
    try:
        dp = import_module("opendp.prelude")
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n), dp.l2_distance(T=float)
    measure = dp.m.make_gaussian(*space, scale=1.0, k=grid_exponent)
    return lambda n: measure([0.0] * n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--opendp-draws", type=int, default=20_000)
    options = parser.parse_args()

    rng, entropy = np.random.default_rng(), SystemEntropy()

    def single(n: int) -> object:
        threads, gaussian._MOST_THREADS = gaussian._MOST_THREADS, 1
        try:
            return rounded_gaussian(n, 24, entropy)
        finally:
            gaussian._MOST_THREADS = threads

    contestants: dict[str, tuple[Callable[[int], object], int]] = {
        "numpy normal": (lambda n: rng.normal(size=n), options.draws),
        "gedp, bits = 24": (lambda n: rounded_gaussian(n, 24, entropy), options.draws),
        "gedp, bits = 24, one thread": (single, options.draws),
        "gedp keystream alone": (entropy.words, options.draws),
        "gedp, bits = 32": (lambda n: rounded_gaussian(n, 32, entropy), options.draws // 10),
        "gedp, bits = 40 (all settled)": (lambda n: rounded_gaussian(n, 40, entropy), options.draws // 1000),
    }
    for name, exponent in {"OpenDP, its own grid": None, "OpenDP, grid 2**-20": -20}.items():
        if draw := opendp_gaussian(options.opendp_draws, exponent):
            contestants[name] = (draw, options.opendp_draws)

    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, contestant in contestants.items():
            times[name].append(seconds(*contestant))

    nanoseconds = {
        name: [min(column) / contestants[name][1] * 1e9 for column in zip(*taken, strict=True)]
        for name, taken in times.items()
    }
    wall_of_numpy, processor_of_numpy = nanoseconds["numpy normal"]
    print(f"{'':32}{'draws':>12}{'ns a draw':>12}{'x NumPy':>10}{'processor ns':>14}{'x NumPy':>10}")
    for name, (wall, processor) in nanoseconds.items():
        ratios = wall / wall_of_numpy, processor / processor_of_numpy
        print(f"{name:32}{contestants[name][1]:12,}{wall:12,.1f}{ratios[0]:10.2f}{processor:14,.1f}{ratios[1]:10.2f}")

    ours = nanoseconds["gedp, bits = 24"][0]
    print(f"\n{ours / wall_of_numpy:.2f} times NumPy's time (aim: at most 2.5)")
    if "OpenDP, its own grid" in nanoseconds:
        print(f"OpenDP {version('opendp')}:")
        for name in ("OpenDP, its own grid", "OpenDP, grid 2**-20"):
            print(f"{nanoseconds[name][0] / ours:,.0f} times as fast as {name} (aim: 1,000)")
    else:
        print("OpenDP is not installed (package opendp): not compared")


if __name__ == "__main__":
    main()
