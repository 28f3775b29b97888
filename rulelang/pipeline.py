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
from rulelang.diagnostics import Problems, near
from rulelang.errors import RulesError, UsageError
from rulelang.files import read_limited
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
        path = next((p for p in (f / f"{name}{SUFFIX}" for f in places) if p.exists()), None)
        if len(self.sources) >= self.limits.files:
            self.problems.add("R005", f"more than {self.limits.files} files", _word_span(item, name), "a game needs a few")
            return None
        if path is None:
            library = [p.stem for p in sorted(bundled("stdlib").glob(f"*{SUFFIX}"))]
            beside = f"put it beside this file; the library has: {', '.join(library)}"
            hint = near(name, [p.stem for f in places for p in f.glob(f"*{SUFFIX}")]) or beside
            self.problems.add("R112", f"no file `{name}{SUFFIX}` here or in the library", _word_span(item, name), hint)
            return None
        if not any(path.resolve().is_relative_to(f.resolve()) for f in places):
            hint = "only files in the folder of the game and in the library are read: copy it there"
            self.problems.add("R112", f"`{name}{SUFFIX}` leads out of this folder", _word_span(item, name), hint)
            return None
        try:
            found = self.parse(read(path, limits=self.limits))
        except UsageError as err:
            self.problems.add("R112", f"`{name}` cannot be read: {err}", _word_span(item, name), "mend or replace that file")
            return None
        if found.header is not None and found.header.name != name:
            message = f"this file is called `{name}`, its header says `{found.header.name}`"
            self.problems.add("R113", message, found.header.span, "file and header bear the same name")
        return found


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


def games() -> dict[str, Path]:
    """Every bundled game by its name: a folder that holds a file of that name."""
    found = {}
    for folder in sorted(bundled("games").iterdir()) if bundled("games").is_dir() else []:
        if (folder / f"{folder.name}{SUFFIX}").is_file():
            found[folder.name] = folder / f"{folder.name}{SUFFIX}"
    return found


def find(game: str) -> Path:
    """The main file of GAME: a bundled name, a file, or a folder with one game in it."""
    known = games()
    if game in known:
        return known[game]
    try:
        return _find_file(game, known)
    except (OSError, ValueError) as err:  # a name that is too long, a NUL in it
        raise UsageError(f"no game, file or folder has this name: {game[:80]}") from err


def _find_file(game: str, known: dict[str, Path]) -> Path:
    path = Path(game)
    if path.is_dir():
        same = path / f"{path.resolve().name}{SUFFIX}"
        if same.is_file():
            return same
        files = sorted(path.glob(f"*{SUFFIX}"))
        mains = [f for f in files if _first_words(f)[:1] == ["game"]]
        if len(mains) == 1:
            return mains[0]
        if not files:
            raise UsageError(f"{game}: this folder holds no rule files (*{SUFFIX})")
        raise UsageError(f"{game}: this folder holds {len(mains)} games; name the file")
    if path.exists():
        return path
    hint = near(game, known)
    raise UsageError(f"no game, file or folder `{game}`" + (f"; {hint}" if hint else f"; bundled games: {', '.join(known)}"))


def variants(folder: Path, game: str) -> list[str]:
    """The variants and expansions of a game that lie beside it."""
    words = {p.stem: _first_words(p) for p in sorted(folder.glob(f"*{SUFFIX}"))}
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
    wanted = [_layer_file(name, main, folder) for name in dict.fromkeys(with_)]
    layers = [*((loaded.parse(read(p, limits)), p.parent) for p in wanted), *layers]
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
    beside = folder / f"{header.base}{SUFFIX}"
    inside = beside.is_file() and beside.resolve().is_relative_to(folder.resolve())
    return beside if inside else games().get(header.base or "")


def _layer_file(name: str, main: nodes.Module, folder: Path) -> Path:
    path = Path(name) if name.endswith(SUFFIX) else folder / f"{name}{SUFFIX}"
    if not path.is_file():
        known = variants(folder, main.name)
        hint = near(name, known) or (f"{main.name} has: {', '.join(known)}" if known else f"{main.name} has none")
        raise UsageError(f"no variant or expansion `{name}` of {main.name}; {hint}")
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
