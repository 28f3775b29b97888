"""Variants and expansions combine: every combination checks, keeps its own examples, and plays for every player count."""

from itertools import combinations
from random import Random

import pytest

import rulelang
from rulelang import pipeline
from rulelang.claims import run_claims
from rulelang.proofs import check_counts
from tests.test_playthroughs import variants

CASES = [(game, layers) for game in pipeline.games() for n in range(len(variants(game)) + 1) for layers in combinations(variants(game), n)]


@pytest.mark.parametrize(("game", "layers"), CASES, ids=lambda x: x if isinstance(x, str) else "+".join(x) or "alone")
def test_a_combination_works(game: str, layers: tuple[str, ...]) -> None:
    loaded = pipeline.load(game, layers)
    check_counts(loaded)
    assert not loaded.problems.found
    results = run_claims(loaded)
    assert not [r.name for r in results if not r.ok and r.module in layers]
    if not layers:
        assert all(r.ok for r in results) and results
    for players in rulelang.load(game, layers).players:
        assert rulelang.load(game, layers).start(players=players, seed=1).play_out(Random(1)).is_over


@pytest.mark.parametrize("layers", list(combinations(variants("tallinn"), 2)), ids="+".join)
def test_the_order_of_layers_does_not_matter(layers: tuple[str, ...]) -> None:
    """Each with its own labels: the same match, whichever is named first."""
    texts = []
    for order in (layers, layers[::-1]):
        match = rulelang.load("tallinn", order).start(players=3, seed=2).play_out(Random(3))
        texts.append((match.scores, match.winners))
    assert texts[0] == texts[1]
