"""How long `gedp --help` takes, in seconds and as a multiple of starting Python alone. Aim: under 0.3 s."""

import subprocess
import sys
import time
from statistics import median

RUNS = 15
HELP = "from gedp.cli import main; import sys; sys.argv = ['gedp', '--help']; main()"


def seconds(code: str) -> float:
    """The median time of a fresh interpreter that runs `code`."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    bare, with_help = seconds("pass"), seconds(HELP)
    print(f"gedp --help: {with_help:.3f} s, {with_help / bare:.1f} times a bare interpreter ({bare:.3f} s)")
