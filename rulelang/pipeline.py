"""The whole way from files to a game, on one screen:

    read -> surface.parse -> names.collect -> core.check -> graph.compile -> runtime

Each stage takes the value of the one before and a list of problems.  A stage reports all that it can; between
stages the pipeline stops if there are errors.  A file that the rules name lies in the folder of the game or in the
library, wherever links lead; how much is read is for the caller to say."""

import gc
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.check import check
from rulelang.core.flow import Flow
from rulelang.diagnostics import Problems, cut, near
from rulelang.errors import RulesError, UsageError
from rulelang.files import is_called, lies_in, read_limited, sort_of
from rulelang.limits import USUAL, Limits
from rulelang.names.collect import collect
from rulelang.names.table import Names
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes
from rulelang.surface.parse import parse

SUFFIX = ".rule"
UNKNOWN = ("R103", "R104", "R105")


@define(eq=False)
class Loaded:
    """A game with everything that its stages made, and what they found."""

    problems: Problems
    modules: tuple[nodes.Module, ...] = ()
    layers: tuple[nodes.Module, ...] = ()
    names: Names | None = None
    game: core.Game | None = None
    flow: Flow | None = None
    folder: Path | None = None
    sources: list[SourceFile] = field(factory=list)
    limits: Limits = USUAL

    @property
    def ok(self) -> bool:
        return self.game is not None and not self.problems.has_errors

    def parse(self, source: SourceFile) -> nodes.Module:
        self.sources.append(source)
        return parse(source, self.problems, self.limits)

    def use(self, module: nodes.Module, folders: tuple[Path, ...], used: dict[str, nodes.Module], chain: tuple[str, ...] = ()) -> None:
        """The files that a file uses, each read once, used ones first; a circle is an error with its chain."""
        chain = (*chain, module.name)
        for item in (i for i in module.items if isinstance(i, nodes.Use)):
            for name in item.names:
                if name in chain:
                    shown = " -> ".join((*chain[chain.index(name) :], name))
                    self.problems.add(
                        "R111", f"files use each other in a circle: {shown}", item.span, "take what both need into a third file"
                    )
                elif len(chain) > self.limits.chain:
                    message = f"files use one another more than {self.limits.chain} deep"
                    self.problems.add("R004", message, _word_span(item, name), "let the game itself use this file")
                elif name not in used:
                    found = self._used(name, item, folders)
                    if found is not None:
                        self.use(found, folders, used, chain)
                        used[name] = found

    def _used(self, name: str, item: nodes.Use, folders: tuple[Path, ...]) -> nodes.Module | None:
        places = (*folders, bundled("stdlib"))
        path = next((p for f in places if (p := _called(f, name)) is not None), None)
        if len(self.sources) >= self.limits.files:
            self.problems.add("R005", f"more than {self.limits.files} files", _word_span(item, name), "a game needs a few")
            return None
        if path is None:
            library = [p.stem for p in sorted(bundled("stdlib").glob(f"*{SUFFIX}"))]
            beside = f"put it beside this file; the library has: {', '.join(library)}"
            others = [p.stem for f in places for p in rule_files(f)]
            same = next((f"its file is called `{x}{SUFFIX}`: rename it" for x in others if x.lower() == name), "")
            hint = same or near(name, others) or beside
            self.problems.add("R112", f"no file `{name}{SUFFIX}` here or in the library", _word_span(item, name), hint)
            return None
        if not lies_in(path, *places):
            hint = "only files in the folder of the game and in the library are read: copy it there"
            self.problems.add("R112", f"`{name}{SUFFIX}` leads out of this folder", _word_span(item, name), hint)
            return None
        try:
            found = self.parse(read(path, limits=self.limits))
        except UsageError as err:
            self.problems.add("R112", f"`{name}` cannot be read: {err}", _word_span(item, name), "mend or replace that file")
            return None
        self.name_it(found, name)
        return found

    def name_it(self, module: nodes.Module, name: str) -> None:
        """A file that was found by its name must bear it, letter by letter: some disks do not tell `Storm` from `storm`."""
        if module.header is not None and module.header.name != name:
            message = f"this file is called `{name}`, its header says `{module.header.name}`"
            self.problems.add("R113", message, module.header.span, "file and header bear the same name")


def bundled(what: str) -> Path:
    """`games`, `stdlib` or `findings`: beside the package in a checkout, inside it in a wheel."""
    here = Path(__file__).resolve().parent
    inside = here / what
    return inside if inside.is_dir() else here.parent / what


@lru_cache(maxsize=1)
def library_words() -> Mapping[str, str]:
    """Every definition of the library, and the file that it stands in."""
    files = sorted(bundled("stdlib").glob(f"*{SUFFIX}"))
    defined = re.compile(r"^(?:define|verb) (\w+)", re.MULTILINE)
    return MappingProxyType({name: p.stem for p in files for name in defined.findall(p.read_text(encoding="utf-8"))})


def rule_files(folder: Path) -> list[Path]:
    """What lies in a folder under names of rule files, in order; no links that lead out of it, and no devices."""
    return [p for p in sorted(folder.glob(f"*{SUFFIX}")) if sort_of(p) == "file" and lies_in(p, folder)]


def games() -> dict[str, Path]:
    """Every bundled game by its name: a folder that holds a file of that name."""
    found = {}
    for folder in sorted(bundled("games").iterdir()) if bundled("games").is_dir() else []:
        if sort_of(folder / f"{folder.name}{SUFFIX}") == "file":
            found[folder.name] = folder / f"{folder.name}{SUFFIX}"
    return found


def find(game: str) -> Path:
    """The main file of GAME: a bundled name, a file, or a folder with one game in it."""
    known = games()
    if game in known:
        return known[game]
    path = Path(game)
    sort = sort_of(path)
    if sort == "folder":
        return _main_file(path)
    if sort:
        return path
    hint = near(game, known)
    raise UsageError(f"no game, file or folder `{cut(game)}`" + (f"; {hint}" if hint else f"; bundled games: {', '.join(known)}"))


def _main_file(folder: Path) -> Path:
    """The file of the folder's name, or the only game in it."""
    files = rule_files(folder)
    same = folder / f"{folder.resolve().name}{SUFFIX}"
    if same in files:
        return same
    mains = [f for f in files if _first_words(f)[:1] == ["game"]]
    if not files:
        raise UsageError(f"{folder}: this folder holds no rule files (*{SUFFIX})")
    if len(mains) != 1:
        raise UsageError(f"{folder}: this folder holds {len(mains)} games; name the file")
    return mains[0]


def variants(folder: Path, game: str) -> list[str]:
    """The variants and expansions of a game that lie beside it."""
    words = {p.stem: _first_words(p) for p in rule_files(folder)}
    return [name for name, first in words.items() if first[:1] == ["variant"] and first[2:4] == ["of", game]]


def _first_words(path: Path) -> list[str]:
    try:
        for line in read(path).text.split("\n"):
            if line.strip() and not line.startswith("#"):
                return line.split()
    except UsageError:
        pass
    return []


def read(path: Path, limits: Limits = USUAL) -> SourceFile:
    """A rule file as text: size first, then encoding."""
    name = shown_as(path)
    return decode(read_limited(path, limits.file, name), name, limits)


def decode(raw: bytes, shown: str, limits: Limits = USUAL) -> SourceFile:
    """A byte order mark, Windows line ends and accents in two parts are taken as they are meant."""
    if len(raw) > limits.file:
        raise UsageError(f"{shown}: larger than {limits.file} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = raw[: err.start].count(b"\n") + 1
        raise UsageError(f"{shown}:{line}: not UTF-8 text; save the file as UTF-8") from err
    if "\0" in text:
        raise UsageError(f"{shown}: a binary file, not rules")
    return SourceFile(shown, unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")))


def shown_as(path: Path) -> str:
    """The name of a file in messages."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        for what in ("games", "stdlib", "findings"):
            try:
                return str(Path(what) / path.resolve().relative_to(bundled(what).resolve()))
            except ValueError:
                continue
        return str(path)


def load(game: str, with_: Iterable[str] = (), limits: Limits = USUAL) -> Loaded:
    """Everything up to the typed core.  Findings are in `problems`; nothing is raised for what an author wrote."""
    return load_file(find(game), with_, Problems(limit=limits.findings), limits=limits)


@contextmanager
def uncollected() -> Iterator[None]:
    """Trees are built here and nothing is thrown away: looking for garbage would cost a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_file(path: Path, with_: Iterable[str], problems: Problems, source: SourceFile | None = None, limits: Limits = USUAL) -> Loaded:
    """The same for one file, or for text that is to be read as if it stood there."""
    with uncollected():
        return _load_file(path, with_, Loaded(problems, folder=path.parent, limits=limits), source)


def _load_file(path: Path, with_: Iterable[str], loaded: Loaded, source: SourceFile | None) -> Loaded:
    problems, limits = loaded.problems, loaded.limits
    main = loaded.parse(source or read(path, limits))
    if main.header is not None and main.header.name.casefold() == path.stem.casefold():
        loaded.name_it(main, path.stem)
    layers: list[tuple[nodes.Module, Path]] = []
    folder = path.parent
    if main.header is not None and main.header.word == "variant":  # a variant is loaded on its game
        layers.append((main, folder))
        base = _base_file(main.header, folder)
        if base is None:
            hint = near(main.header.base or "", games()) or "the game lies beside its variant, or is a bundled one"
            problems.add("R112", f"no game `{main.header.base}` here or among the bundled ones", main.header.span, hint)
            return loaded
        folder = base.parent
        main = loaded.parse(read(base, limits))
        if main.header is not None and main.header.word != "game":
            problems.add("R114", f"`{main.name}` is no game", layers[0][0].span, "a variant is one of a game, not of another variant")
            return loaded
    layers = [*_wanted(tuple(dict.fromkeys(with_)), main, folder, loaded), *layers]
    used: dict[str, nodes.Module] = {}
    loaded.use(main, (folder,), used)
    for layer, home in layers:
        if layer.header is not None and (layer.header.word != "variant" or layer.header.base != main.name):
            hint = f'its header would be `variant {layer.name} of {main.name} "..."`'
            problems.add("R114", f"`{layer.name}` is no variant of `{main.name}`", layer.header.span, hint)
        loaded.use(layer, (home, folder), used)
    modules = [*used.values(), main]
    loaded.modules, loaded.layers = tuple(modules), tuple(layer for layer, _ in layers)
    if any(m.header is None for m in [*modules, *loaded.layers]):
        return loaded
    loaded.names = collect(loaded.modules, loaded.layers, problems, library_words())
    if loaded.names is not None:
        loaded.game, loaded.flow = check(loaded.names, problems, limits=limits)
    unused = any(d.code == "R112" for d in problems.found) or any("use" in m.unread for m in (*modules, *loaded.layers))
    if unused:  # what is unknown may stand in the file that is not there
        problems.found[:] = [d for d in problems.found if d.code not in UNKNOWN]
    return loaded


def _base_file(header: nodes.Header, folder: Path) -> Path | None:
    beside = _called(folder, header.base or "")
    inside = beside is not None and sort_of(beside) == "file" and lies_in(beside, folder)
    return beside if inside else games().get(header.base or "")


def _wanted(names: tuple[str, ...], main: nodes.Module, folder: Path, loaded: Loaded) -> list[tuple[nodes.Module, Path]]:
    """The layers that were asked for, and where each lies."""
    if len(names) > loaded.limits.files:
        raise UsageError(f"more than {loaded.limits.files} variants and expansions at once; a match needs a few")
    found = []
    for name in names:
        path = _layer_file(name, main, folder)
        found.append((loaded.parse(read(path, loaded.limits)), path.parent))
        loaded.name_it(found[-1][0], path.stem)
    return found


def _called(folder: Path, name: str) -> Path | None:
    """What lies in a folder under this name of a rule file, whatever it is."""
    path = folder / f"{name}{SUFFIX}"
    return path if sort_of(path) and is_called(path) else None


def _layer_file(name: str, main: nodes.Module, folder: Path) -> Path:
    path = Path(name) if name.endswith(SUFFIX) else _called(folder, name)
    if path is None or sort_of(path) != "file":
        known = variants(folder, main.name)
        hint = near(name, known) or (f"{main.name} has: {', '.join(known)}" if known else f"{main.name} has none")
        raise UsageError(f"no variant or expansion `{cut(name)}` of {main.name}; {hint}")
    if not name.endswith(SUFFIX) and not lies_in(path, folder):
        raise UsageError(f"`{cut(name)}{SUFFIX}` leads out of the folder of {main.name}: copy it there, or name the file that is meant")
    return path


def _word_span(item: nodes.Node, word: str) -> Span:
    at = item.span.source.text.find(word, item.span.start, item.span.end)
    return Span(item.span.source, at, at + len(word)) if at >= 0 else item.span


def require(loaded: Loaded) -> core.Game:
    """The game, or every finding as one exception."""
    if not loaded.ok:
        from rulelang.diagnostics import render

        found = loaded.problems.sorted()
        raise RulesError(found, "\n\n".join(render(d) for d in found))
    assert loaded.game is not None
    return loaded.game
