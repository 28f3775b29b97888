"""`python -m rulelang`."""

from rulelang.cli import main

if __name__ == "__main__":  # what plays in a process of its own reads this file too
    main()
