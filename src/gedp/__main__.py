"""`python -m gedp` is `gedp`."""

from gedp.cli import main

if __name__ == "__main__":
    main()
