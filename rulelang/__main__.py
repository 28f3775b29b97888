"""`python -m rulelang`."""

from rulelang.cli import main

main()
