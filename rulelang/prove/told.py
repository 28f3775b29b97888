"""That no rule tells a secret, as `check --proofs` reports it."""

from collections.abc import Iterator

from rulelang.core import nodes as core
from rulelang.core.secrecy import check_secrecy
from rulelang.diagnostics import Problems


def secrets_kept(game: core.Game) -> Iterator[tuple[int, str]]:
    """Of every line that somebody sees something of, as (level, text)."""
    problems = Problems()
    looked_at = check_secrecy(game, problems)
    telling = {f"{d.span.source.path}:{d.span.line}" for d in problems.found}
    secrets = [f"`{p.name}`" for p in game.places.values() if p.visibility in ("private", "hidden")]
    yield 1, f"a secret that is told: {len(looked_at - telling)} of {len(looked_at)} proved"
    for d in problems.sorted():
        yield 2, f"not proved: {d.span}: {d.message}"
    if not telling:
        yield 2, f"proved: no rule tells a secret; {len(looked_at)} lines were looked at of which somebody sees something"
        if secrets:
            yield 3, f"because nothing that a line shows comes of {', '.join(secrets)}, but to whoever may see that"
        else:
            yield 3, "because everything lies open"
