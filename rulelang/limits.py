"""How large things may be.  The caller sets the limits; no file can: nothing that is read ever reaches this module."""

from attrs import frozen

NUMBER = 2**53  # whole numbers go from -NUMBER to NUMBER, in rule files and while playing
MEMBERS = 10_000  # of a kind, of a group of numbers, of a group in an order; the largest number in one


@frozen
class Limits:
    """`load("harbour", limits=Limits(options=50_000))`: a caller who trusts a file may let it do more"""

    file: int = 1_000_000  # bytes of a rule file
    files: int = 500  # that one game reads
    chain: int = 16  # files that use one another, in a row
    depth: int = 64  # blocks, values and definitions inside one another
    declarations: int = 5_000  # of one file
    lines: int = 1_000  # of one block
    parts: int = 100_000  # values and lines, with all definitions unfolded
    findings: int = 1_000
    label: int = 200  # characters of a heading, a text, a claim
    name: int = 100  # characters; a caller can only allow longer ones
    pieces: int = 100_000
    different: int = 5_000  # pieces that can be told apart
    cells: int = 1_000_000  # of a table, and of all places together
    options: int = 10_000  # of one decision
    steps: int = 1_000_000  # between two decisions
    threads: int = 4_000  # of one `together`
    choices: int = 100_000  # of a match
    save: int = 16_000_000  # bytes of a match file


USUAL = Limits()
