"""Couples many worlds and prints what was found; then plants faults, and prints which of them were found.

python -m tests.attacks.coupling --planted
"""

import argparse
import sys
import time

from tests.attacks.coupling.couple import Coupled, in_a_folder
from tests.attacks.coupling.door import CouplingError
from tests.attacks.coupling.planted import PLANTED, found_in
from tests.attacks.coupling.worlds import ACCOUNTINGS, KINDS, MATRIX, make_world


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=len(MATRIX), help="how many; by default every combination once")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the number of the first")
    parser.add_argument("--planted", action="store_true", help="then plant faults")
    chosen = parser.parse_args()
    began, coupled, broken = time.process_time(), list[Coupled](), 0
    for number in range(chosen.start, chosen.start + chosen.worlds):
        world = make_world(number)
        try:
            coupled.append(in_a_folder(world))
        except CouplingError as error:
            broken += 1
            print(f"BROKEN: {world.name}: {error}")
    print(f"{'largest distance, as a part of the price':42}{ACCOUNTINGS[0]:>14}{ACCOUNTINGS[1]:>14}")
    for kind in KINDS:
        ratios = [max((c.ratio for c in coupled if f", {kind}, {a}," in c.world.name), default=0) for a in ACCOUNTINGS]
        print(f"{kind:42}" + "".join(f"{float(ratio):14.9f}" for ratio in ratios))
    took = time.process_time() - began
    print(
        f"{len(coupled)} worlds coupled, {broken} broken, {sum(c.draws for c in coupled):,} draws; "
        f"{took:.0f} s of processor"
    )
    for name in PLANTED if chosen.planted else ():
        found = found_in(PLANTED[name])
        print(f"{name:45} {f'world {found[0].name}: {found[1]}' if found else 'NOT FOUND'}", flush=True)
        broken += found is None
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
