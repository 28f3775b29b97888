"""The mistakes that a designer makes first, each with the one answer that it gets: `tests/language/mistakes.txt`.

A file is the wrong game, and says how it is mended as the files of `findings/` do.  Some mistakes stand there already."""

import re
import shutil
from pathlib import Path

import pytest

from rulelang import pipeline
from rulelang.diagnostics import Problems, render
from rulelang.explain import findings
from rulelang.limits import USUAL
from rulelang.source import SourceFile
from rulelang.surface.parse import parse
from tests.golden import golden, placed
from tests.test_findings import mended_copy

HERE = Path(__file__).parent / "language"

# What the designer did, and the game in which they did it.
MISTAKES: dict[str, str] = {
    "the lines of a step stand at the left margin": "a_block_at_the_margin",
    "a rule stands in no step": "a_rule_in_no_step",
    "a line stands between two levels": "a_line_between_two_levels",
    "a line is indented for no reason": "a_line_too_far_right",
    "a block is not indented": "R003",
    "tabs for spaces": "R002",
    "a colon where a block begins": "a_step_with_a_colon",
    "a colon is forgotten": "a_colon_forgotten",
    "a comma is forgotten": "a_comma_forgotten",
    "a comma at the end of a line": "a_comma_at_the_end",
    "a title without quotes": "a_title_without_quotes",
    "a quote is not closed": "a_quote_not_closed",
    "a bracket is not closed": "a_bracket_not_closed",
    "= for is": "R001",
    "== for is": "two_equals_signs",
    "!= for is not": "not_equal_in_signs",
    "is greater than": "greater_than_in_words",
    "+= for raise": "plus_equals",
    "= for to": "set_with_equals",
    "if ... then": "if_then",
    "else for otherwise": "else_for_otherwise",
    "else if": "else_if",
    "a condition cut short: is 1 or 2": "one_or_the_other",
    "&& for and": "signs_for_and",
    "two comparisons in one": "between_two_numbers",
    "for each": "for_each",
    "while for repeat": "while_for_repeat",
    "end if": "an_end_for_every_block",
    "a range in words": "two_to_four",
    "a range that runs backwards": "a_range_backwards",
    "a number in words": "a_number_in_words",
    "a percentage": "a_percentage",
    "a number below 0": "a_negative_number",
    "a misspelt name": "R103",
    "a misspelt member": "R104",
    "one name for two things": "R101",
    "a capital letter": "a_capital_letter",
    "an umlaut": "an_umlaut",
    "a name of two words": "two_words_for_a_name",
    "a definition of two words": "a_definition_of_two_words",
    "a verb of two words": "a_verb_of_two_words",
    "a kind of two words": "a_kind_of_two_words",
    "a word of the language as a name": "R102",
    "an article": "an_article",
    "a kind in the plural": "kind_in_the_plural",
    "pieces written small": "pieces_written_small",
    "have for has": "have_for_has",
    "who are warm": "who_are",
    "the wrong preposition": "wrong_preposition",
    "a preposition too many": "R234",
    "a preposition given twice": "by_twice",
    "two effects in one line": "two_effects_in_one_line",
    "two effects, and a comma": "two_effects_after_a_comma",
    "the second effect without its verb": "one_verb_for_two_counters",
    "a preposition forgotten": "preposition_forgotten",
    "another verb: add for raise": "another_verb",
    "pay, from a counter": "pay_from_a_counter",
    "a definition is raised": "a_definition_is_raised",
    "a place is shown": "a_place_is_shown",
    "a library that is not named": "R105",
    "a library misspelt": "R112",
    "a file that is not there": "a_file_that_is_not_there",
    "the remainder forgotten": "R231",
    "the ties forgotten": "R232",
    "the shortage forgotten": "R233",
    "a ranking without ties": "ranking_without_ties",
    "the ranking forgotten": "R312",
    "the number of players forgotten": "R314",
    "who sees it forgotten": "R246",
    "the start forgotten": "R244",
    "a full store": "R250",
    "a table one short": "R204",
    "a row too many": "a_row_too_many",
    "a row for two keys": "a_row_for_two_keys",
    "the keys in another order": "keys_in_another_order",
    "a table for fewer players than the header": "a_table_for_fewer_players",
    "a card without a number": "a_card_without_a_number",
    "a phase that is never used": "a_verb_never_used",
    "a step that never happens": "R341",
    "an end that always leaves": "an_end_without_a_condition",
    "a line that stands left of its option": "a_line_left_of_its_option",
    "a player's value, or the rival's?": "R301",
    "yours or theirs, on both sides": "yours_or_theirs_on_both_sides",
    "a player's value outside of a player's block": "R302",
    "your, where nobody is you": "your_for_a_place_of_nobody",
    "choosing outside of a player's block": "nobody_to_choose",
    "in turn, but from whom?": "R305",
    "the first player without brackets": "first_player_without_brackets",
    "together, but somebody chooses": "R306",
    "a choice that does not say how many": "a_choice_without_any",
    "if for only if": "a_condition_of_an_option",
    "a card compared with a number": "a_card_compared_with_a_number",
    "a group for a number": "R210",
    "a card moved into a counter": "R239",
    "a move that does not say how many": "how_many_pieces_are_moved",
    "a card moved into a place for coins": "a_card_into_the_wrong_zone",
    "a coin moved from where none lie": "a_coin_from_the_deck",
    "a loop that nothing ends": "R321",
    "the end of a loop misspelt": "R311",
    "a counter that falls below its range": "a_purse_overdrawn",
    "laid open a line too late": "laid_open_a_line_too_late",
    "a label that was renamed": "R122",
    "for each, of pieces": "counted_with_for_each",
    "for every, of a counter": "counted_per_counter",
    "the rest is lost": "the_rest_is_lost",
    "gain 2 coins": "gain_so_many",
    "any n from 1 to coins": "from_one_number_to_another",
    "a random number from 1 to 6": "a_random_number",
    "coins are moved from a counter to a counter": "a_counter_is_moved",
    "more than every opponent": "of_every_opponent",
    "a definition with if and otherwise": "a_definition_with_if",
    "= for is, twice in a line": "two_signs_in_one_line",
    "if for only if, behind a text": "an_option_with_a_text_and_if",
    "a player has, in an example": "a_player_has_in_an_example",
    "a clause before the next preposition": "a_clause_before_another_word",
    "their, of a player who has a name": "their_for_a_name",
    "guest coins for coins of guest": "a_player_and_a_counter",
    "a table of a thing, for its key": "a_table_of_a_thing",
    "each opponent, in a player's block": "a_second_player_without_a_name",
    "nobody laid guard": "nobody_did",
    "an option of two words": "an_option_of_two_words",
    "repeat until": "repeat_until",
    "the top 3 of a pile": "the_top_three",
    "half of": "half_of_a_counter",
    "is even": "an_even_number",
    "every 3 rounds": "every_third_round",
    "them, for pieces that have a name": "them_for_a_name",
    "players with": "players_with",
    "an effect, 3 times": "an_effect_so_many_times",
    "a counter starts with 5": "a_counter_starts_with",
    "end game": "the_end_of_the_game",
    "the condition at the end": "if_at_the_end",
    "if around a replace": "if_around_a_replace",
    "sum, for total of": "sum_for_total",
    "more than 3 and less than 8": "two_comparisons_of_one",
    "what two players have, in one line of an example": "two_expectations_in_one",
    "secret, for private": "secret_for_private",
    "a step happens, in an example": "a_step_happens",
    "6x, for 6 times": "so_many_x",
    "= in a row of a table": "a_row_with_a_sign",
}  # fmt: skip

PARSER_WORDS = re.compile(
    r"\b(tokens?|nodes?|terminals?|lexer|parser|pars(?:e|ed|ing)|syntax|AST|None|Python|traceback|exception|identifiers?"
    r"|strings?|integers?|booleans?|expressions?|statements?|arguments?|signatures?|finite)\b"
)


def case(name: str) -> Path:
    folder = pipeline.bundled("findings") if re.fullmatch(r"R\d{3}", name) else HERE / "mistakes"
    return next(p for p in (folder / f"{name}.rule", folder / name) if p.exists())


@pytest.mark.parametrize("name", MISTAKES.values())
def test_one_mistake_gets_one_answer(name: str) -> None:
    assert len(findings(case(name))) == 1


@pytest.mark.parametrize("name", [n for n in MISTAKES.values() if not re.fullmatch(r"R\d{3}", n)])
def test_mended_as_it_says_the_game_is_clean(name: str, tmp_path: Path) -> None:
    assert not findings(mended_copy(case(name), tmp_path))


@pytest.mark.parametrize("name", MISTAKES.values())
def test_a_line_that_a_hint_shows_reads(name: str) -> None:
    """Every hint `write LINE`: with that line in its place, reading does not stop there."""
    for found in findings(case(name)):
        source, line = found.span.source, found.span.line
        text = source.line_text(line)
        shown = re.match(r"write `([^`]*)`", found.hint)
        if found.code != "R001" or shown is None or re.search(r"\.\.\. |LABEL", shown[1]) or 2 * len(shown[1]) < len(text.strip()):
            continue  # a word of the line, or a name
        indent = text[: len(text) - len(text.lstrip())]
        problems = Problems()
        parse(SourceFile("x.rule", source.text.replace(text, indent + shown[1], 1)), problems)
        assert not [d for d in problems.found if d.code == "R001" and d.span.line == line], shown[1]


def test_every_mistake_in_a_file_is_reported_and_nothing_else(tmp_path: Path) -> None:
    wrong = HERE / "mistakes/several_mistakes.rule"
    lines = wrong.read_text(encoding="utf-8").splitlines()
    wanted = [n for n, line in enumerate(lines, 1) if lines[n : n + 1] and lines[n].lstrip().startswith("#>")]
    assert [d.span.line for d in findings(wrong)] == wanted
    assert not findings(mended_copy(wrong, tmp_path))


def test_the_answers_read_like_this(request: pytest.FixtureRequest) -> None:
    parts = []
    for number, (words, name) in enumerate(MISTAKES.items(), 1):
        said = placed("\n\n".join(render(d) for d in findings(case(name))))
        assert not PARSER_WORDS.search(said), name
        parts.append(f"{number}. {words}\n\n{said}\n")
    golden(HERE / "mistakes.txt", "\n\n".join(parts), request)


def test_every_file_is_a_mistake_of_the_list() -> None:
    files = {p.stem for p in (HERE / "mistakes").iterdir()}
    assert files == {n for n in MISTAKES.values() if not re.fullmatch(r"R\d{3}", n)} | {"several_mistakes"}


def test_of_a_file_full_of_mistakes_the_first_thousand_are_told() -> None:
    problems = Problems()
    text = 'game x "X", players 2..2\n' + "counter pot = 3\n" * 1100 + "step a\n    raise cup by 1\n"
    module = parse(SourceFile("x.rule", text), problems)
    assert len(problems.found) == USUAL.findings + 1 and problems.found[-1].message.startswith("more than 1000 findings")
    assert {"pot", "cup"} <= module.unread


def test_a_number_of_five_thousand_digits_is_too_large() -> None:
    problems = Problems()
    parse(SourceFile("x.rule", f'game x "X", players 2..2\ncounter pot: 0..{"9" * 5000}, public\n'), problems)
    assert [d.code for d in problems.found] == ["R005"]


SLIPS = [  # a slip of the pen in a real game: what was written, what is written now
    ("visby", "use visby_data, split", "use visby_data split"),
    ("visby", "use visby_data, split", "use vsby_data, split"),
    ("visby", "counter seals: 0.., public", "counter sels: 0.., public"),
    ("visby", "counter wares: 0..15, public", "counter wares: 0..15 public"),
    ("visby", "each player\n    counter seals", "each plaer\n    counter seals"),
    ("visby", "zone hand: Action, private", "Zone hand: Action, private"),
    ("visby", "together each player who laid mendicant", "together each Player who laid mendicant"),
    ("visby", "            if laid mendicant\n", "            if laid laid mendicant\n"),
    ("visby", "    end rounds if some player", "end rounds if some player"),
    ("visby", 'step troops "III.1 Troops"', 'step troops III.1 Troops"'),
    ("visby", '    step supply "I.', '        step supply "I.'),
    ("tallinn", "zone row(Half): Influence", "zone row(Half) Influence"),
    ("tallinn", "status triggered: Faction or none", "status triggered: Faction or None"),
    ("tallinn", "define influence(f: Faction) =", "define Influence(f: Faction) ="),
    ("tallinn", "    counter points: number", "counter points: number"),
    ("tallinn", 'step set_up "Game Setup"', '    step set_up "Game Setup"'),
]


@pytest.mark.parametrize(("game", "old", "new"), SLIPS, ids=[new.strip() for _, _, new in SLIPS])
def test_a_slip_in_a_real_game_gets_one_answer(game: str, old: str, new: str, tmp_path: Path) -> None:
    copy = shutil.copytree(pipeline.games()[game].parent, tmp_path / game)
    main = copy / f"{game}.rule"
    text = main.read_text(encoding="utf-8")
    assert text.count(old) == 1
    main.write_text(text.replace(old, new), encoding="utf-8")
    found = pipeline.load(str(main)).problems.sorted()
    assert len(found) == 1, "\n\n".join(render(d) for d in found)


HINTS = [  # the same, and what it is answered
    ("visby", "    end rounds if some player has", "    end rounds if a player has", "end rounds if some player has seals >= target"),
    ("visby", "    end rounds if some player has", "    end rounds if any player has", "end rounds if some player has seals >= target"),
    ("visby", "wares / wares_per_final_seal rounded down", "wares / wares_per_final_seal", "add `rounded down` or `rounded up`"),
    ("visby", "exactly cards_to_lay(number of players) cards", "exactly cards_to_lay cards", "cards_to_lay(number 2..6)"),
    ("visby", "set market to market_after", "set market market_after", "set market to market_after_merchants"),
    ("tallinn", "            build_tower\n", "            build tower\n", "did you mean `build_tower`?"),
    ("tallinn", "draw 1 from deck to hand", "draw 1 from deck into hand", "write `to hand`"),
    ("tallinn", "draw 1 from deck to hand", "draw 1 card from deck to hand", "write `draw 1 from deck to hand, shortage accepted`"),
    ("tallinn", "every player has hand is empty\n", "hand of every player is empty\n", "end rounds if every player has hand is empty"),
    ("tallinn", "in turn each f in Faction\n", "in turn each faction\n", "did you mean `Faction`?"),
    ("tallinn", 'repeat rounds "Gameplay"', 'repeat "Gameplay"', 'repeat rounds "Gameplay"'),
    ("tallinn", "{half} half\" any card in hand with", "{halves} half\" any card in hand with", "correct the spelling"),
    ("hansa", "if harbour_master is you", "if you are harbour_master", "give 0 if harbour_master is you"),
    ("hansa", "booths_at_first Booth from", "booths_at_first booths from", "move booths_at_first Booth from"),
    ("hansa", "end rounds if last_round", "end round if last_round", "did you mean `rounds`?"),
    ("hansa", "smaller(talers, kept_in_taxes)", "smaller of talers and kept_in_taxes", "smaller(a, b)"),
    ("hansa", "raise talers of harbour_master by", "raise harbour_master's talers by", "raise talers of harbour_master by price_here"),
    ("hansa", "                                end acting", "                            end acting",
     "it belongs to `finish`: indent it by four spaces more"),
    ("carthago", "if strength >= danger of prize", "if strength >= danger", "say `danger of prize`"),
    ("carthago", "status used_stone: Stone or none", "status used_stone: Stone", "say `Stone or none`"),
    ("carthago", "set stone to action of card", "set stone to card", "action of card"),
    ("carthago", "draw_trade income(1)", "draw_trade income 1", "write `income(1)`"),
    ("carthago", "repeat rounds, rounds_per_decade times", "repeat rounds rounds_per_decade times", "rounds, rounds_per_decade times"),
]  # fmt: skip


@pytest.mark.parametrize(("game", "old", "new", "hint"), HINTS, ids=[new.strip() for _, _, new, _ in HINTS])
def test_the_answer_says_how_it_is_mended(game: str, old: str, new: str, hint: str, tmp_path: Path) -> None:
    copy = shutil.copytree(pipeline.games()[game].parent, tmp_path / game)
    main = copy / f"{game}.rule"
    text = main.read_text(encoding="utf-8")
    assert old in text
    main.write_text(text.replace(old, new, 1), encoding="utf-8")
    found = pipeline.load(str(main)).problems.sorted()
    assert [hint in d.hint for d in found] == [True], "\n\n".join(render(d) for d in found)
