"""Names of files that come from a rule file, a match file or the command line: whatever they are, one line says that there
is no such file, or why it is not taken."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import rulelang
from rulelang import pipeline
from rulelang.diagnostics import Problems
from rulelang.errors import MatchFileError, UsageError
from rulelang.files import sort_of
from rulelang.limits import Limits
from rulelang.source import SourceFile
from tests.harden import bombs
from tests.harden.bad_saves import TINY, command

STRANGE = {
    "long": "x" * 5_000, "long in bytes": "é" * 200, "deep": "a/" * 3_000 + "a", "NUL": "a\0b", "surrogate": "\udcff",
    "control": "\x1b[2J", "two lines": "a\nb", "nothing": "", "folder": "/", "out": "../../x", "device": "/dev/zero", "pipe": "pipe",
    "below a file": "tiny.rule/x", "itself": "circle",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.rule").write_text(TINY)
    os.mkfifo(tmp_path / "pipe.rule")
    (tmp_path / "circle.rule").symlink_to("circle.rule")
    return tmp_path


def in_api(name: str) -> str:
    with pytest.raises(UsageError) as err:
        rulelang.load("tiny.rule", [name])
    return str(err.value)


def as_game(name: str) -> str:
    if not name or name in ("pipe", "/"):
        name += ".rule"
    with pytest.raises(UsageError) as err:
        rulelang.load(name)
    return str(err.value)


def by_match_file(key: str) -> Callable[[str], str]:
    def said(name: str) -> str:
        lines = rulelang.load("tiny.rule").start(seed=1).to_text().split("\n")
        lines[{"game": 1, "with": 2}[key]] = f"{key}: {name or '//'}"
        with pytest.raises(MatchFileError) as err:
            rulelang.resume("\n".join(lines).encode("utf-8", "replace"))
        return str(err.value)

    return said


def by_command(*args: str) -> Callable[[str], str]:
    def said(name: str) -> str:
        code, out, err = command(*(a.replace("NAME", name) for a in args))
        assert code == 2 and not out and err.startswith("rulelang: "), (code, out, err)
        return err.removesuffix("\n")

    return said


WAYS = {
    "with_": in_api, "a game": as_game, "game of a match file": by_match_file("game"), "layer of a match file": by_match_file("with"),
    "--with": by_command("check", "tiny.rule", "--with=NAME.rule"), "check GAME": by_command("check", "--", "NAME.rule"),
    "play --with": by_command("play", "tiny.rule", "--with", "NAME/x"), "replay": by_command("replay", "--", "./NAME.rule/x"),
    "--resume": by_command("play", "--resume", "./NAME.rule/x"), "--from": by_command("new", "other", "--from=NAME.rule"),
    "--html": by_command("test", "tiny.rule", "--html=./NAME.rule/x.html"),
}  # fmt: skip


SAID = [(way, name) for way in WAYS for name in STRANGE if name != "NUL" or way not in ("replay", "--resume", "--html")]  # no NUL there


@pytest.mark.parametrize(("way", "name"), SAID)
def test_a_name_that_names_no_rule_file_gets_one_line(way: str, name: str, folder: Path) -> None:
    before = sorted(p.name for p in folder.iterdir())
    said = WAYS[way](STRANGE[name])
    assert said.isprintable() and len(said) < 7_000 and "internal error" not in said
    assert way in ("replay", "--resume", "--html") or len(said) < 400
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize("word", ["use {}", "variant x of {}"])
def test_a_name_in_a_rule_file_that_is_too_long_for_a_file(word: str, folder: Path) -> None:
    """Also where the caller allows longer names than any disk."""
    text = f'{word.format("n" * 4_000)} "T"\n' if "of" in word else bombs.HEAD.replace("\n\n", f"\n\n{word.format('n' * 4_000)}\n\n", 1)
    for limits, code in ((Limits(), "R005"), (Limits(name=10_000), "R112")):
        problems = Problems()
        pipeline.load_file(Path("bomb.rule"), (), problems, SourceFile("bomb.rule", text + bombs.ONCE), limits)
        assert [d.code for d in problems.found if d.code != "R103"] == [code]


def test_what_may_not_be_looked_at_counts_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: object) -> None:
        raise PermissionError

    assert (sort_of("/"), sort_of(__file__), sort_of("/dev/null"), sort_of("x\0"), sort_of("x" * 999)) == (
        "folder",
        "file",
        "other",
        "",
        "",
    )
    monkeypatch.setattr("os.stat", refuse)
    assert sort_of("closed") == "file"


SECRET = "a line that nobody outside may read"
LAYER = 'variant storm of tiny "Storm"\n\nafter rounds\n    together each player\n        raise points by 1\n'


@pytest.mark.parametrize("inside", [LAYER, SECRET])
def test_a_link_in_a_folder_of_a_stranger_leads_nowhere_out_of_it(inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names a folder has named nothing that lies elsewhere, nor has a layer of that folder."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "storm.rule").write_text(inside)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "theirs.rule").symlink_to("../mine/storm.rule")
    monkeypatch.chdir(tmp_path)
    code, out, err = command("check", "theirs")
    assert (code, out, err) == (2, "", "rulelang: theirs: this folder holds no rule files (*.rule)\n")
    (theirs / "tiny.rule").write_text(TINY)
    (theirs / "storm.rule").symlink_to("../mine/storm.rule")
    code, out, err = command("check", "theirs", "--with", "storm")
    assert (code, out) == (2, "") and "leads out of the folder of tiny" in err and err.count("\n") == 1
    assert pipeline.variants(theirs, "tiny") == []
    code, out, err = command("check", "theirs")
    assert code == 0 and out.startswith("no problems in 1 file\n")


@pytest.mark.parametrize("asked", ["Storm", "Storm.rule"])
def test_a_disk_that_does_not_tell_small_letters_from_large_ones_changes_nothing(
    asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a disk finds `storm.rule` when it is asked for `Storm.rule`; here a second name of the file does the same."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("storm", LAYER), ("tiny", TINY)):
        (tmp_path / f"{name}.rule").write_text(text)
        os.link(f"{name}.rule", f"{name.capitalize()}.rule")
    assert pipeline.load("tiny.rule", ["storm"]).ok
    (found,) = pipeline.load("tiny.rule", [asked]).problems.found
    assert (found.code, found.message) == ("R113", "this file is called `Storm`, its header says `storm`")
    (found,) = pipeline.load("Tiny.rule").problems.found
    assert (found.code, found.message) == ("R113", "this file is called `Tiny`, its header says `tiny`")


def test_a_file_is_found_by_its_name_letter_by_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On such a disk, too: there `Helper.rule` would be found for `use helper`, and nowhere else."""
    stat = os.stat

    def careless(name: "str | os.PathLike[str]", **more: object) -> os.stat_result:
        path = Path(os.fspath(name))
        there = path.parent.iterdir() if path.parent == tmp_path else ()
        return stat(next((p for p in there if p.name.lower() == path.name.lower()), path), **more)  # type: ignore[call-overload, no-any-return]

    (tmp_path / "bomb.rule").write_text(bombs.HEAD.replace("\n\n", "\n\nuse helper\n\n", 1) + bombs.ONCE)
    (tmp_path / "Helper.rule").write_text('library helper "H"\n\ndefine one = 1\n')
    (tmp_path / "Tiny.rule").write_text(TINY)
    (tmp_path / "Storm.rule").write_text(LAYER.replace("of tiny", "of bomb"))
    (tmp_path / "tide.rule").write_text(LAYER.replace("storm of", "tide of"))
    for disk in (stat, careless):
        monkeypatch.setattr("os.stat", disk)
        (found,) = pipeline.load(str(tmp_path / "bomb.rule")).problems.found
        assert (found.code, found.hint) == ("R112", "its file is called `Helper.rule`: rename it")
        (found,) = pipeline.load(str(tmp_path / "tide.rule")).problems.found
        assert (found.code, found.message) == ("R112", "no game `tiny` here or among the bundled ones")
        with pytest.raises(UsageError, match="no variant or expansion `storm` of bomb"):
            pipeline.load(str(tmp_path / "bomb.rule"), ["storm"])
    assert sort_of(tmp_path / "helper.rule") == "file"
