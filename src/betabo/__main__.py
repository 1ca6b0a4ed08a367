"""`python -m betabo` is the command `betabo`."""

from betabo.cli import main

if __name__ == "__main__":
    main()
