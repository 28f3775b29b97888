"""tmp"""
from collections.abc import Iterator
from rulelang.core import nodes as core
from rulelang.prove.facts import Atoms
from rulelang.prove.walk import claims
from rulelang.prove.verdict import Claim
from rulelang.runtime.settings import combinations


def open_claims(game: core.Game) -> tuple[list[Claim], dict[str, list[int]]]:
    found: dict[str, Claim] = {}
    unproved: dict[str, list[int]] = {}
    for players in game.players:
        for settings in combinations(game, players):
            atoms = Atoms()
            for claim in claims(game, players, settings, atoms):
                key = f"{claim.span}: {claim.sort} {claim.about}"
                found.setdefault(key, claim)
                if not claim.proved and players not in unproved.setdefault(key, []):
                    unproved[key].append(players)
    return list(found.values()), {key: counts for key, counts in unproved.items() if counts}
