"""`python -m almanac`."""

from almanac.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
