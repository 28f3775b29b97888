"""The whole way from files to a game, on one screen:

    read -> surface.parse -> names.collect -> core.check -> graph.compile -> runtime

Each stage takes the value of the one before and a list of problems.  A stage reports all that it can; between
stages the pipeline stops if there are errors.  Only this file and the command line read files."""

import gc
import re
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
from rulelang.names.collect import collect
from rulelang.names.table import Names
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes
from rulelang.surface.parse import parse

SUFFIX = ".rule"
MAX_BYTES = 1_000_000
MAX_FILES = 500
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

    @property
    def ok(self) -> bool:
        return self.game is not None and not self.problems.has_errors

    def parse(self, source: SourceFile) -> nodes.Module:
        self.sources.append(source)
        return parse(source, self.problems)

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
                elif name not in used:
                    found = self._used(name, item, folders, len(used))
                    if found is not None:
                        self.use(found, folders, used, chain)
                        used[name] = found

    def _used(self, name: str, item: nodes.Use, folders: tuple[Path, ...], so_far: int) -> nodes.Module | None:
        places = (*folders, bundled("stdlib"))
        path = next((p for p in (f / f"{name}{SUFFIX}" for f in places) if p.is_file()), None)
        if path is None or so_far >= MAX_FILES:
            library = [p.stem for p in sorted(bundled("stdlib").glob(f"*{SUFFIX}"))]
            beside = f"put it beside this file; the library has: {', '.join(library)}"
            hint = near(name, [p.stem for f in places for p in f.glob(f"*{SUFFIX}")]) or beside
            self.problems.add("R112", f"no file `{name}{SUFFIX}` here or in the library", _word_span(item, name), hint)
            return None
        found = self.parse(read(path))
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
    path = Path(game)
    if "\0" in game:
        raise UsageError("a file name holds no NUL")
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
        for line in path.read_text(encoding="utf-8-sig").splitlines():
            if line.strip() and not line.startswith("#"):
                return line.split()
    except (OSError, UnicodeError):
        pass
    return []


def read(path: Path, shown: str | None = None) -> SourceFile:
    """A rule file as text: size first, then encoding; BOM and Windows line ends are taken as they are meant."""
    shown = shown or _shown(path)
    try:
        if path.is_dir():
            raise UsageError(f"{shown}: this is a folder")
        if not path.is_file():
            raise UsageError(f"{shown}: no such file" if not path.exists() else f"{shown}: not a regular file")
        with path.open("rb") as handle:
            raw = handle.read(MAX_BYTES + 1)
    except OSError as err:
        raise UsageError(f"{shown}: {err.strerror or 'cannot be read'}") from err
    return decode(raw, shown)


def decode(raw: bytes, shown: str) -> SourceFile:
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{shown}: larger than {MAX_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = raw[: err.start].count(b"\n") + 1
        raise UsageError(f"{shown}:{line}: not UTF-8 text; save the file as UTF-8") from err
    if "\0" in text:
        raise UsageError(f"{shown}: a binary file, not rules")
    return SourceFile(shown, text.replace("\r\n", "\n").replace("\r", "\n"))


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        for what in ("games", "stdlib", "findings"):
            try:
                return str(Path(what) / path.resolve().relative_to(bundled(what).resolve()))
            except ValueError:
                continue
        return str(path)


def load(game: str, with_: Iterable[str] = (), problems: Problems | None = None) -> Loaded:
    """Everything up to the typed core.  Findings are in `problems`; nothing is raised for what an author wrote."""
    problems = Problems() if problems is None else problems
    return load_file(find(game), with_, problems)


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


def load_file(path: Path, with_: Iterable[str], problems: Problems, source: SourceFile | None = None) -> Loaded:
    """The same for one file, or for text that is to be read as if it stood there."""
    with uncollected():
        return _load_file(path, with_, problems, source)


def _load_file(path: Path, with_: Iterable[str], problems: Problems, source: SourceFile | None) -> Loaded:
    loaded = Loaded(problems, folder=path.parent)
    main = loaded.parse(source or read(path))
    layers: list[tuple[nodes.Module, Path]] = []
    folder = path.parent
    if main.header is not None and main.header.word == "variant":  # a variant is loaded on its game
        layers.append((main, folder))
        base = _base_file(main.header, folder)
        folder = base.parent
        main = loaded.parse(read(base))
    wanted = [_layer_file(name, main, folder) for name in dict.fromkeys(with_)]
    layers = [*((loaded.parse(read(p)), p.parent) for p in wanted), *layers]
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
        loaded.game, loaded.flow = check(loaded.names, problems)
    unused = any(d.code == "R112" for d in problems.found) or any("use" in m.unread for m in (*modules, *loaded.layers))
    if unused:  # what is unknown may stand in the file that is not there
        problems.found[:] = [d for d in problems.found if d.code not in UNKNOWN]
    return loaded


def _base_file(header: nodes.Header, folder: Path) -> Path:
    assert header.base is not None
    beside = folder / f"{header.base}{SUFFIX}"
    return beside if beside.is_file() else find(header.base)


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
