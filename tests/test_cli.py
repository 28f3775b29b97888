"""The command line, run as a process: what it prints, where, and with which exit code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def rulelang(*args: str, cwd: Path | None = None, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rulelang", *args],
        cwd=cwd or ROOT, input=stdin, capture_output=True, text=True, timeout=120, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env},
    )  # fmt: skip


def fails(done: subprocess.CompletedProcess[str], code: int, part: str) -> None:
    """One clear message, the right exit code, no traceback."""
    assert done.returncode == code, done.stdout + done.stderr
    assert part in done.stdout + done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr


def test_list_names_games_variants_and_options() -> None:
    done = rulelang("list")
    assert done.returncode == 0
    for word in ("visby", "2 to 6 players", "--option target", "tallinn", "--with envoy", "hansa", "carthago"):
        assert word in done.stdout


def test_check_of_a_sound_game_is_clean() -> None:
    done = rulelang("check", "visby", "tallinn", "hansa", "carthago", "stdlib")
    assert done.returncode == 0 and "no problems" in done.stdout and "--proofs" in done.stdout, done.stdout


@pytest.mark.parametrize("layers", ["envoy", "chronicles", "tower_order", "envoy,chronicles", "envoy,chronicles,tower_order"])
def test_layers_check_together(layers: str) -> None:
    assert rulelang("check", "tallinn", "--with", layers).returncode == 0


def test_check_reports_all_findings_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "one.rule").write_text('game one "One", players 2..2\nstep a\n    raise pot by 1\n    lower pott by 1\n')
    (tmp_path / "two.rule").write_text('game two "Two", players 2..2\nkind K: a, a\n')
    done = rulelang("check", str(tmp_path / "one.rule"), str(tmp_path / "two.rule"))
    assert done.returncode == 1
    for part in ("unknown place `pot`", "unknown place `pott`", "`a` stands twice", "one.rule:3", "two.rule:2", "hint:", "^^^"):
        assert part in done.stdout, part


WRONG = 'game x "X", players 2..2\nstep a\n    raise pot by 1\nranking by fewest number of players, ties shared\n'


def test_layers_are_tested_from_anywhere(tmp_path: Path) -> None:
    done = rulelang("test", "visby", "--with", "long_winter", cwd=tmp_path)
    assert done.returncode == 0 and "of a base game changed by its layers" in done.stdout, done.stdout + done.stderr


def test_check_reads_standard_input() -> None:
    fails(rulelang("check", "-", stdin=WRONG), 1, "<standard input>:3:11")


def test_standard_input_stands_in_a_file_that_is_not_saved_yet(tmp_path: Path) -> None:
    (tmp_path / "jar.rule").write_text('library jar "Jar"\n\ndefine dues = 5\n')
    said = ["check", "-", "--stdin-filename", str(tmp_path / "x.rule"), "--format", "json"]
    using = WRONG.replace("step a", "use jar\nstep a")
    for told in (rulelang(*said, stdin=using), rulelang(*said, "--untrusted", stdin=using)):
        found = json.loads(told.stdout)["findings"]
        assert [(f["code"], f["place"]["file"]) for f in found] == [("R103", str(tmp_path / "x.rule"))], told.stdout + told.stderr
    assert not (tmp_path / "x.rule").exists()
    fails(rulelang("check", "visby", "--stdin-filename", "x.rule"), 2, "add `-`")
    fails(rulelang("check", "-", "--stdin-filename", str(tmp_path / "none" / "x.rule"), stdin=WRONG), 2, "no such folder")


def test_check_reads_the_names_in_examples_and_runs_none(tmp_path: Path) -> None:
    claims = '\nexample "a"\n    players anna, ben\n    given anna: 2 pot\n    run aa\n    expect pots of bn: 4\n    expect pot: 7\n'
    head = 'game x "X", players 2..2\n\ncounter pot: 0.., public\n\neach player\n    counter points: 0.., public\n\n'
    text = head + "step a\n    raise pot by 1\n    raise points of (first player) by pot\n\nranking by most points, ties shared\n"
    (tmp_path / "x.rule").write_text(text + claims)
    found = json.loads(rulelang("check", "x.rule", "--format", "json", cwd=tmp_path).stdout)["findings"]
    assert [(f["code"], f["place"]["line"]) for f in found] == [("R103", 16), ("R122", 17), ("R103", 18), ("R103", 18)]
    (tmp_path / "x.rule").write_text(
        text + claims.replace("given anna: 2 pot", "given pot: 2").replace("run aa", "run a").replace("pots of bn", "pot")
    )
    assert rulelang("check", "x.rule", cwd=tmp_path).returncode == 0
    assert "0 passed, 1 failed" in rulelang("test", "x.rule", cwd=tmp_path).stdout


def test_check_speaks_to_programs_with_paths_from_the_working_directory(tmp_path: Path) -> None:
    folder = tmp_path / "my games"
    folder.mkdir()
    (folder / "x.rule").write_text(WRONG)
    told = {form: rulelang("check", str(folder / "x.rule"), "--format", form, cwd=tmp_path) for form in ("json", "sarif", "github")}
    assert all(done.returncode == 1 and not done.stderr for done in told.values())
    finding = json.loads(told["json"].stdout)["findings"][0]
    assert (finding["code"], finding["place"]["file"], finding["place"]["line"]) == ("R103", "my games/x.rule", 3)
    result = json.loads(told["sarif"].stdout)["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20games/x.rule"
    assert told["github"].stdout.startswith("::error file=my games/x.rule,line=3,col=11,title=R103%3A unknown name::unknown place `pot`%0A")


def test_check_tells_programs_that_nothing_was_found() -> None:
    assert json.loads(rulelang("check", "visby", "--format", "json").stdout)["findings"] == []
    assert json.loads(rulelang("check", "visby", "--format", "sarif").stdout)["runs"][0]["results"] == []
    quiet = rulelang("check", "visby", "--format", "github")
    assert (quiet.returncode, quiet.stdout) == (0, "")


def test_test_runs_examples_and_says_what_layers_change() -> None:
    done = rulelang("test", "visby")
    assert done.returncode == 0 and "0 failed" in done.stdout
    with_layer = rulelang("test", "visby", "--with", "long_winter")
    assert with_layer.returncode == 0 and "changed by the layers: V14" in with_layer.stdout
    added_card = rulelang("test", "tallinn", "--with", "envoy")  # its cards come from a data file of its own
    assert added_card.returncode == 0 and "changed by the layers: T1" in added_card.stdout


def test_a_failing_example_fails(tmp_path: Path) -> None:
    text = (ROOT / "games/visby/visby.rule").read_text(encoding="utf-8").replace("expect seals: 2, 3, 3", "expect seals: 2, 3, 4")
    (tmp_path / "visby.rule").write_text(text, encoding="utf-8")
    (tmp_path / "visby_data.rule").write_text((ROOT / "games/visby/visby_data.rule").read_text(encoding="utf-8"), encoding="utf-8")
    fails(rulelang("test", str(tmp_path / "visby.rule")), 1, "`seals` of carl is 3")


def test_bots_play_to_the_end_and_the_score_is_accounted_for() -> None:
    done = rulelang("play", "visby", "--seats", "random,random,random", "--seed", "7")
    assert done.returncode == 0 and "Result" in done.stdout and "seals" in done.stdout and "III.2 Knight" in done.stdout
    assert "\x1b" not in done.stdout
    assert rulelang("play", "visby", "--seats", "random,random,random", "--seed", "7").stdout == done.stdout


@pytest.mark.parametrize("game", [("tallinn", "--with", "envoy,chronicles"), ("hansa",), ("carthago",), ("visby", "--option", "target=45")])
def test_every_game_is_played_from_the_command_line(game: tuple[str, ...]) -> None:
    done = rulelang("play", *game, "--seats", "random,random", "--seed", "3")
    assert done.returncode == 0 and "Result" in done.stdout, done.stderr


def test_a_person_plays_saves_undoes_and_leaves(tmp_path: Path) -> None:
    file = tmp_path / "my.match"
    said = "?\n1\n1\nu\nlog\nl\nq\nq\n"
    done = rulelang("play", "visby", "--seats", "human,random", "--seed", "1", "--save", str(file), stdin=said)
    assert done.returncode == 0, done.stderr
    assert "troops" in done.stdout and file.read_text().startswith("rulelang match 1\n")
    replayed = rulelang("replay", str(file))
    assert replayed.returncode == 0 and "So far" in replayed.stdout
    resumed = rulelang("play", "--resume", str(file), "--seats", "random,random")
    assert resumed.returncode == 0 and "Result" in resumed.stdout


def test_the_end_of_input_ends_cleanly_with_the_match_saved(tmp_path: Path) -> None:
    done = rulelang("play", "visby", "--seats", "human,human", "--seed", "1", cwd=tmp_path, stdin="\n1\n")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    saved = list(tmp_path.glob("*.match"))
    assert len(saved) == 1 and rulelang("replay", str(saved[0])).returncode == 0


def test_with_two_people_the_screen_is_handed_over(tmp_path: Path) -> None:
    done = rulelang("play", "tallinn", "--seats", "human,human", "--seed", "1", cwd=tmp_path, stdin="\n1\n\n")
    assert done.stdout.count("Hand over to") == 2


@pytest.mark.parametrize("form", ["dot", "mermaid"])
def test_graph_draws_the_course_of_the_game(form: str) -> None:
    done = rulelang("graph", "visby", "--format", form)
    assert done.returncode == 0 and ("digraph" if form == "dot" else "flowchart") in done.stdout and "Merchant" in done.stdout


def test_graph_draws_a_declared_map() -> None:
    """Where its members lie, with y upwards; a way in the direction in which it is written."""
    dot = rulelang("graph", "hansa", "--map", "exits").stdout
    at = {name: (float(x), float(y)) for name, x, y in re.findall(r'"(\w+)" \[.*pos="([-\d.]+),([-\d.]+)!"\]', dot)}
    assert len(at) == 9 and "layout=neato" in dot
    assert at["aalborg"][0] < at["copenhagen"][0] < at["riga"][0]
    assert at["tonsberg"][1] > at["copenhagen"][1] > at["lubeck"][1]
    assert '"reval" -> "riga";' in dot and '"riga" -> "reval"' not in dot
    mermaid = rulelang("graph", "hansa", "--map", "exits", "--format", "mermaid").stdout
    assert "flowchart" in mermaid and mermaid.count("-->") == dot.count("->") == 13
    fails(rulelang("graph", "hansa", "--map", "exit"), 2, "did you mean `exits`?")
    fails(rulelang("graph", "hansa", "--map", "roads"), 2, "it has: exits")
    fails(rulelang("graph", "visby", "--map", "exits"), 2, "visby declares no map")


def test_graph_draws_a_way_there_and_back_as_one_line() -> None:
    roads = "tests/language/maps/good/both_ways_leads_back.rule"
    dot = rulelang("graph", roads, "--map", "roads").stdout
    assert dot.count("->") == dot.count("dir=both") == 3 and "pos=" not in dot and "layout" not in dot
    assert rulelang("graph", roads, "--map", "roads", "--format", "mermaid").stdout.count("<-->") == 3


def test_the_ship_stands_on_the_map() -> None:
    shown = rulelang("play", "hansa", "--seats", "human,random", "--seed", "3", stdin="q\nq\n", COLUMNS="100").stdout
    box = shown[shown.index("┏") : shown.index("┛")]
    assert "copenhagen" in box and "● port" in box


@pytest.mark.parametrize("stage", ["surface", "names", "core", "graph", "labels"])
def test_show_prints_every_stage(stage: str) -> None:
    done = rulelang("show", stage, "hansa")
    assert done.returncode == 0 and len(done.stdout.splitlines()) > 20


def test_labels_of_the_library_are_listed() -> None:
    shown = rulelang("show", "labels", "visby").stdout
    for label in ("rounds.merchants.close_market", "share_equally", "trade_at_will.trading.lot", "knights_take"):
        assert label in shown


def test_new_makes_a_game_and_a_variant_that_work_at_once(tmp_path: Path) -> None:
    assert rulelang("new", "amber", cwd=tmp_path).returncode == 0
    for command in (("check", "amber"), ("test", "amber"), ("play", "amber", "--seats", "random,random", "--seed", "1")):
        done = rulelang(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    fails(rulelang("new", "amber", cwd=tmp_path), 2, "amber")
    assert rulelang("new", "fog", "--from", "hansa", cwd=tmp_path).returncode == 0
    assert rulelang("check", "fog.rule", cwd=tmp_path).returncode == 0


def test_explain_shows_one_code_or_lists_all() -> None:
    from rulelang.codes import CODES

    parts = (
        "R231: a division",
        "Wrong:",
        "    share_equally ship into talers among players\n",
        "hint: add",
        "Mended:",
        ", remainder stays\n",
    )
    for asked in ("R231", "r231", "231"):
        done = rulelang("explain", asked)
        assert done.returncode == 0
        assert not [part for part in parts if part not in done.stdout]
    listed = rulelang("explain").stdout.splitlines()
    assert listed == [f"{code}  {what.title}" for code, what in CODES.items()]
    fails(rulelang("explain", "R251"), 2, "the nearest is `R250`")
    fails(rulelang("explain", "wages"), 2, "lists all")


# ---------------------------------------------------------------- bad input


def test_missing_unknown_and_impossible_things_get_one_line_each() -> None:
    fails(rulelang("check", "vsby"), 2, "did you mean `visby`?")
    fails(rulelang("play", "visby", "--players", "9"), 2, "2 to 6 players")
    fails(rulelang("play", "visby", "--option", "targt=45"), 2, "did you mean `target`?")
    fails(rulelang("play", "visby", "--option", "target=40"), 2, "30 or 45")
    fails(rulelang("play", "visby", "--players", "4", "--option", "target=45"), 2, "cannot be 45 here")
    fails(rulelang("play", "tallinn", "--with", "envoi"), 2, "did you mean `envoy`?")
    fails(rulelang("play", "visby", "--players", "3", "--seats", "random,random"), 2, "2 seats")
    fails(rulelang("replay", "nowhere.match"), 2, "nowhere.match")
    fails(rulelang("frobnicate"), 2, "frobnicate")


@pytest.mark.parametrize(
    ("name", "raw", "code", "part"),
    [
        ("empty", b"", 1, "does not say what it is"),
        ("binary", b"\x7fELF\x00\x01\x02", 2, "binary"),
        ("latin", 'game x "Café", players 2..2\n'.encode("latin-1"), 2, "not UTF-8"),
        ("tabs", b'game x "X", players 2..2\nstep a\n\traise pot by 1\n', 1, "tab"),
        ("deep", b'game x "X", players 2..2\ndefine d = ' + b"(" * 400 + b"1" + b")" * 400 + b"\n", 1, "nested more than"),
        ("cycle", b'game cycle "X", players 2..2\nuse cycle\n', 1, "circle"),
        ("number", b'game x "X", players 2..2\ndefine n = 99999999999999999999\n', 1, "2 to the power of 53"),
    ],
)  # fmt: skip
def test_broken_files_get_a_clear_message(name: str, raw: bytes, code: int, part: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.rule"
    path.write_bytes(raw)
    fails(rulelang("check", str(path)), code, part)


def test_windows_line_ends_a_mark_and_a_long_flat_sum_are_no_mistakes(tmp_path: Path) -> None:
    text = (ROOT / "games/visby/visby.rule").read_text(encoding="utf-8")
    data = (ROOT / "games/visby/visby_data.rule").read_text(encoding="utf-8")
    total = "define long_sum = " + " + ".join(["1"] * 5000) + "\n"
    text = text.replace("define troops_take = 2", total + "define troops_take = 2 + long_sum - 5000")
    (tmp_path / "visby.rule").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    (tmp_path / "visby_data.rule").write_bytes(data.replace("\n", "\r\n").encode())
    done = rulelang("test", str(tmp_path / "visby.rule"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_without_rules_and_a_folder_as_a_file(tmp_path: Path) -> None:
    fails(rulelang("check", str(tmp_path)), 2, "no rule files")
    (tmp_path / "x.rule").mkdir()
    fails(rulelang("check", str(tmp_path / "x.rule")), 2, "x.rule")


def test_escape_sequences_of_a_file_never_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "x.rule"
    path.write_text('game x "\x1b[31mX\u202e", players 2..2\nstep a "\x1b]0;own\x07"\n    raise pot by 1\n', encoding="utf-8")
    done = rulelang("check", str(path))
    assert done.returncode == 1 and "\x1b" not in done.stdout and "\u202e" not in done.stdout


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m rulelang play visby --seats random,random --seed 1 | head -n 1",
        shell=True, capture_output=True, text=True, timeout=60, cwd=ROOT,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
