"""The command line: one short function for each command.  What a command needs is imported when it runs."""

import json
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rulelang import __version__
from rulelang.errors import MatchFileError, RuleError, RulelangError, RulesError, UsageError
from rulelang.files import sort_of
from rulelang.limits import USUAL
from rulelang.untrusted import STOPPED, TimeIsUp

if TYPE_CHECKING:
    from rulelang.api import Game, Match
    from rulelang.claims import ClaimResult
    from rulelang.core import nodes as core
    from rulelang.coverage import Coverage, Line
    from rulelang.diagnostics import Diagnostic
    from rulelang.files import SaveFile
    from rulelang.pipeline import Loaded
    from rulelang.prove.report import Games
    from rulelang.source import SourceFile


def _html(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix not in (".html", ".htm"):  # a slip would cost a rule file
        raise UsageError(f"{path}: a page is called something.html")
    if path is not None and sort_of(path.parent) != "folder":
        raise UsageError(f"{path.parent}: no such folder")
    return path


STAGES = ("surface", "names", "core", "graph", "labels")
SEATS = ("human", "random")
html_option = click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", callback=_html, help="The same as a page, the rules coloured line by line."
)
with_option = click.option("--with", "layers", multiple=True, metavar="A,B", help="Variants and expansions, in this order.")


class Commands(click.Group):
    """Findings are printed where the choice of colours is known."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RulesError as err:
            _findings(err.problems, to_stderr=True)
            return 1
        except KeyboardInterrupt:
            with suppress(OSError):  # the terminal may be gone
                click.echo(err=True)
            return 130


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rulelang", message="%(prog)s %(version)s")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in the output.")
@click.pass_context
def cli(ctx: click.Context, color: str) -> None:
    """The rules of a game are a text file: check it, test it, play it.

    GAME is a bundled game (see `rulelang list`), a rule file, or a folder with a game in it.
    """
    ctx.color = {"always": True, "never": False}.get(color, False if os.environ.get("NO_COLOR") else None)


def main() -> NoReturn:
    """Every way out has its exit code and at most one line, unless it is findings; never a traceback."""
    _make_streams_safe()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:  # `nohup` knows better
            signal.signal(getattr(signal, name), _interrupt)
    code = 2
    try:
        code = cli(prog_name="rulelang", standalone_mode=False) or 0
        sys.stdout.flush()
    except click.exceptions.Exit as err:
        code = err.exit_code
    except click.exceptions.NoArgsIsHelpError as err:
        click.echo(err.format_message(), err=True)
    except click.UsageError as err:
        where = f"; see `{err.ctx.command_path} --help`" if err.ctx is not None else ""
        _fail(f"{err.format_message().rstrip('.')}{where}")
    except click.ClickException as err:
        _fail(err.format_message())
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except BrokenPipeError:
        code = 0
    except UsageError as err:
        _fail(str(err))
    except MatchFileError as err:
        _fail(str(err))
        code = 1
    except RulelangError as err:
        _fail(*f"a rule was broken: {err}".split("\n"))
        code = 1
    except OSError as err:
        _fail(f"{err.filename}: {err.strerror}" if err.filename else err.strerror or str(err))
    except MemoryError:
        _fail("stopped: memory")
        code = STOPPED
    except TimeIsUp:
        _fail("stopped: time")
        code = STOPPED
    except Exception as err:
        if os.environ.get("RULELANG_DEBUG"):
            raise
        _fail(f"internal error: {type(err).__name__}: {err}; please report it (RULELANG_DEBUG=1 shows where)")
    for stream in (sys.stdout, sys.stderr):  # whoever read them may be gone
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _make_streams_safe() -> None:
    """Whatever stands in a file can be printed; a stream that was closed is an empty one."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _fail(*lines: str) -> None:
    from rulelang.diagnostics import printable

    with suppress(OSError):
        click.echo("rulelang: " + "\n".join(printable(line) for line in lines), err=True)


def _findings(problems: "Iterable[Diagnostic]", to_stderr: bool = False) -> None:
    from rulelang.diagnostics import render

    for d in problems:
        first, _, rest = render(d).partition("\n")
        word, colon, message = first.partition(":")
        styled = click.style(word, fg="red" if d.is_error else "yellow", bold=True) + click.style(colon + message, bold=True)
        click.echo(f"{styled}\n{rest}\n", err=to_stderr)


def _say(lines: Iterable[tuple[int, str]]) -> None:
    """(level, text): level 0 stands out, the others are indented."""
    from rulelang.diagnostics import printable

    for level, text in lines:
        shown = printable(text)
        click.echo(f"\n{click.style(shown, bold=True)}" if level == 0 else "  " * level + shown)


def _layers(layers: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for given in layers for part in given.split(",") if part.strip())


# ---------------------------------------------------------------- list


@cli.command("list")
def list_games() -> None:
    """The bundled games, their variants and options."""
    from rulelang import pipeline
    from rulelang.diagnostics import Problems
    from rulelang.surface import nodes
    from rulelang.surface.parse import parse

    for name, path in pipeline.games().items():
        files = [path, *sorted(p for p in path.parent.glob(f"*{pipeline.SUFFIX}") if p != path)]
        for module in (parse(pipeline.read(p), Problems()) for p in files):
            header = module.header
            if header is None or header.word not in ("game", "variant"):
                continue
            if header.players is not None:
                _say([(0, f"{name}: {header.title}, {header.players.span.text.replace('..', ' to ')} players")])
            else:
                _say([(1, f"--with {header.name}: {header.title}")])
            for item in module.items:
                if isinstance(item, nodes.Option):
                    _say([(1 if header.players else 2, f"--option {item.name}: {item.span.text.partition(':')[2].split('{')[0].strip()}")])


# ---------------------------------------------------------------- check


@cli.command()
@click.argument("games", metavar="GAME...", nargs=-1, required=True)
@with_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text", help="For people or for programs."
)
@click.option("--proofs", is_flag=True, help="Also where a match could stop, and what is proved about it.")
@click.option("--playouts", type=click.IntRange(1), metavar="N", help="Play N random matches of every player count, option and layer.")
@click.option("--seed", type=int, help="Other random matches; the same seed, the same matches.")
@html_option
@click.option(
    "--stdin-filename", "stdin_file", type=click.Path(path_type=Path), metavar="FILE", help="Where `-` belongs, as an editor says it."
)
@click.option("--untrusted", is_flag=True, help="Check files of strangers: in a process of its own, which is stopped if it takes too much.")
@click.option("--seconds", type=click.IntRange(1), default=60, show_default=True, help="Of the processor, for --untrusted.")
@click.option("--memory", type=click.IntRange(100), default=1000, show_default=True, metavar="MB", help="For --untrusted.")
def check(
    games: tuple[str, ...], layers: tuple[str, ...], form: str, proofs: bool, playouts: int | None, seed: int | None, html: Path | None,
    stdin_file: Path | None, untrusted: bool, seconds: int, memory: int,
) -> int:  # fmt: skip
    """All findings of all files, for every declared number of players.  `-` reads standard input, as if it stood in the
    file of --stdin-filename: findings are shown there, and `use` looks beside it.

    With --playouts also what random matches bring to light: where nobody can go on, claims that do not hold, each with
    the shortest match that was found as a file, and which rules never fired.
    """
    from rulelang.diagnostics import several
    from rulelang.pipeline import uncollected
    from rulelang.proofs import check_counts

    if playouts is None and (html is not None or seed is not None):
        raise UsageError("--html and --seed are about random matches: add --playouts 200")
    if playouts is not None and "-" in games:
        raise UsageError("random matches are played by several processes: name a file instead of `-`")
    if stdin_file is not None and "-" not in games:
        raise UsageError("--stdin-filename says where standard input belongs: add `-` to what is checked")
    if stdin_file is not None and sort_of(stdin_file.parent) != "folder":
        raise UsageError(f"{stdin_file.parent}: no such folder")
    if untrusted:
        from rulelang.untrusted import run

        if playouts is not None:
            raise UsageError("--untrusted and --playouts do not go together: many processes play, one is watched")
        sys.stdout.flush()
        shown = [f"--format={form}", *(["--proofs"] if proofs else ())]
        named = [f"--stdin-filename={stdin_file}"] if stdin_file is not None else []
        return run(["check", *shown, *(f"--with={layer}" for layer in layers), *named, "--", *games], memory, seconds)
    with uncollected():  # around both: what the first leaves would be looked through before the second begins
        pairs = [pair for game in games for pair in _load_each(game, _layers(layers), stdin_file)]
        loads = [loaded for _, loaded in pairs]
        for loaded in loads:
            check_counts(loaded)
        problems = [d for loaded in loads for d in loaded.problems.sorted()]
    lines: list[Line] = []
    played: dict[str, Games] = {}
    if playouts is not None and not any(d.is_error for d in problems):
        mishaps, lines, played = _play_all(pairs, _layers(layers), playouts, seed or 0, html)
        problems += mishaps
    found = tuple({(d.code, str(d.span), d.message): d for d in problems}.values())
    errors = sum(d.is_error for d in found)
    if form == "text":
        _findings(found)
        for game, games_ in _provable(loads, played) if proofs else ():
            _prove(game, games_)
        _report(lines)
        files = len({source.path for loaded in loads for source in loaded.sources})
        words = f"{several(errors, 'error')}, {several(len(found) - errors, 'warning')}" if found else "no problems"
        none = "" if lines or playouts is None else "; no match was played: mend the errors first"
        click.echo(("\n" if lines else "") + f"{words} in {several(files, 'file')}{none}")
        if not found and playouts is None and not proofs and any(_provable(loads, played)):
            click.echo("whether a match could stop is another question: add --proofs, or --playouts 200")
    else:
        _for_programs(found, form, list(_provable(loads, played)) if proofs else None)
    return 1 if errors else 0


def _for_programs(found: "tuple[Diagnostic, ...]", form: str, proofs: "list[tuple[core.Game, Games | None]] | None") -> None:
    from rulelang import reports
    from rulelang.prove.report import as_data
    from rulelang.serial import findings_json

    if form == "github":
        click.echo(reports.github(found), nl=bool(found))
    else:
        proved = None if proofs is None or form != "json" else [x for game, games in proofs for x in as_data(game, games)]
        click.echo(findings_json(found, proved) if form == "json" else reports.sarif(found))


def _provable(loads: "list[Loaded]", played: "dict[str, Games]") -> "Iterator[tuple[core.Game, Games | None]]":
    """The games among what was loaded, each with the random matches that were played of it."""
    for x in loads:
        if x.ok and x.game is not None and x.names is not None and x.names.header.word == "game":
            yield x.game, played.get(x.sources[0].path)


def _prove(game: "core.Game", games: "Games | None") -> None:
    from rulelang.prove.report import lines

    _say(lines(game, games))
    click.echo()


def _play_all(
    pairs: "list[tuple[str, Loaded]]", layers: tuple[str, ...], matches: int, seed: int, html: Path | None
) -> "tuple[list[Diagnostic], list[Line], dict[str, Games]]":
    """Random matches of every game among these, and of a variant whose game is not among them."""
    from rulelang import report, series
    from rulelang.coverage import Coverage

    mains = {loaded.sources[0].path for _, loaded in pairs}
    alone = [(s, x) for s, x in pairs if x.names is not None and x.names.header.word == "game" and not _comes_with(x, mains)]
    if not alone:
        raise UsageError("none of these files is a game: nothing can be played")
    found: list[Diagnostic] = []
    lines: list[Line] = []
    coverage = Coverage()
    sources: dict[str, SourceFile] = {}
    games: dict[str, Games] = {}
    for source, loaded in alone:
        plan = series.plan(source, loaded, layers, matches)
        with _progress(sum(n for _, n in plan.ways)) as done:
            made = series.run(plan, seed, series.cores(), done)
        for mishap in made.mishaps:
            replay = report.replay(mishap)
            file = _keep_match(replay.match) if replay is not None else None
            found.append(report.finding(made, mishap, replay, str(file)))
        lines.extend(report.lines(made))
        games[loaded.sources[0].path] = report.games(made)
        coverage.add(made.coverage)
        sources |= made.sources
    if html is not None:
        _write_page(html, "Random matches", lines, found, coverage, sources)
    return found, lines, games


def _comes_with(loaded: "Loaded", mains: set[str]) -> bool:
    """Is this a variant whose game is played anyway, with all its layers?"""
    game = next(m for m in loaded.modules if m.header is not None and m.header.word == "game")
    return game.source.path != loaded.sources[0].path and game.source.path in mains


def _keep_match(match: "Match") -> Path:
    """A file of its own; the same match again goes into the same file."""
    from rulelang.files import write_whole
    from rulelang.terminal import free_name, usual_name

    text, name = match.to_text(), usual_name(match)
    if not (sort_of(name) == "file" and name.read_text(encoding="utf-8", errors="replace") == text):
        name = free_name(match)
        write_whole(name, text)
    return name


def _write_page(
    path: Path, title: str, lines: "list[Line]", found: "list[Diagnostic]", coverage: "Coverage", sources: "dict[str, SourceFile]"
) -> None:
    from rulelang.files import write_whole
    from rulelang.page import page

    write_whole(path, page(title, lines, found, coverage, sources))


def _report(lines: "Iterable[Line]") -> None:
    from rulelang.coverage import shortened

    _say((line.level, str(line)) for line in shortened(lines))


@contextmanager
def _progress(total: int, of: str = "random matches") -> Iterator[Callable[[int], None]]:
    """A bar for people at a terminal, and nothing for anybody else."""
    from rich.console import Console
    from rich.progress import Progress

    if not sys.stderr.isatty():
        yield lambda n: None
        return
    console = Console(stderr=True, no_color=click.get_current_context().color is False)
    with Progress(console=console, auto_refresh=False, transient=True) as bar:  # no thread of its own: processes are begun
        task = bar.add_task(of, total=total)
        yield lambda n: bar.update(task, advance=n, refresh=True)


def _load_each(what: str, layers: tuple[str, ...], stdin_file: Path | None = None) -> "Iterator[tuple[str, Loaded]]":
    """A game; or standard input; or every file of a folder that is not one game: each with the name to load it by."""
    from rulelang import pipeline
    from rulelang.diagnostics import Problems

    if what == "-":
        shown = "<standard input>" if stdin_file is None else pipeline.shown_as(stdin_file)
        source = pipeline.decode(sys.stdin.buffer.read(USUAL.file + 1), shown)
        yield what, pipeline.load_file(stdin_file or Path("stdin.rule"), layers, Problems(limit=USUAL.findings), source)
        return
    files = _files(what) if not layers else []
    if not files:
        yield what, pipeline.load(what, layers)
    for path in files:
        yield str(path), pipeline.load_file(path, (), Problems())


def _files(what: str) -> list[Path]:
    """The files of a folder and of the folders in it; none where `what` is a game's name or a file."""
    from rulelang import pipeline
    from rulelang.files import lies_in

    folder = Path(what) if sort_of(what) == "folder" else pipeline.bundled(what) if what == "stdlib" else None
    if what in pipeline.games() or folder is None:
        return []
    folders = [folder, *sorted(f for f in folder.iterdir() if sort_of(f) == "folder" and lies_in(f, folder))]
    files = [p for f in folders for p in pipeline.rule_files(f)]
    if not files:
        raise UsageError(f"{what}: this folder holds no rule files (*{pipeline.SUFFIX})")
    return files


# ---------------------------------------------------------------- test


@cli.command()
@click.argument("games", metavar="[GAME...]", nargs=-1)
@with_option
@click.option("--coverage", "counted", is_flag=True, help="Also say which rules no example brings about.")
@html_option
def test(games: tuple[str, ...], layers: tuple[str, ...], counted: bool, html: Path | None) -> int:
    """Runs the examples and claims that stand in the rule files: of all bundled games and of the library, or of those named."""
    from rulelang import pipeline
    from rulelang.claims import run_claims
    from rulelang.diagnostics import several

    everything = [str(pipeline.bundled("games")), str(pipeline.bundled("stdlib"))]
    loads = (loaded for what in games or everything for _, loaded in _load_each(what, _layers(layers)))
    rules = (loaded for loaded in loads if loaded.names is None or loaded.names.header.word != "data")
    if counted or html is not None:
        totals = _test_counted(list(rules), html)
    else:
        totals = _sums(_test_one(loaded, run_claims) for loaded in rules)
    click.echo(f"\n{totals[0]} passed, {totals[1]} failed")
    if totals[2]:
        click.echo(f"{several(totals[2], 'example')} of a base game changed by its layers")
    return 1 if totals[1] else 0


def _test_counted(loads: "list[Loaded]", html: Path | None) -> tuple[int, ...]:
    """The examples once more with an eye on what fires."""
    from rulelang.coverage import Coverage, Line, count_examples, own_files, told

    own = frozenset(path for loaded in loads for path in own_files(loaded))
    coverage = Coverage()

    def counted(loaded: "Loaded") -> "list[ClaimResult]":
        results, found = count_examples(loaded, own)
        coverage.add(found)
        return results

    totals = _sums(_test_one(loaded, counted) for loaded in loads)
    sources = {source.path: source for loaded in loads for source in loaded.sources}
    lines = [Line(0, "What the examples bring about"), *told(coverage, sources)]
    _report(lines)
    if html is not None:
        _write_page(html, "Examples", lines, [], coverage, sources)
    return totals


def _sums(rows: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip((0, 0, 0), *rows, strict=True)))


def _test_one(loaded: "Loaded", run: "Callable[[Loaded], list[ClaimResult]]") -> tuple[int, int, int]:
    """Passed, failed, changed by the layers: what holds in the base game alone is no failure of a variant."""
    from rulelang.diagnostics import printable
    from rulelang.playouts import run_always

    main = loaded.sources[0]
    layers = [m.name for m in loaded.layers if m.source.path != main.path]
    name = f"{main.path} with {', '.join(layers)}" if layers else main.path
    if not loaded.ok or loaded.names is None:
        click.echo(f"{printable(name)}: not tested, it has errors\n")
        _findings(d for d in loaded.problems.sorted() if d.is_error)
        return 0, 1, 0
    own = {m.name for m in loaded.names.modules if m.source.path == main.path or (m.header and m.header.word != "library")}
    always = run_always(loaded) if loaded.names.header.word == "game" else []
    results = [r for r in [*run(loaded), *always] if r.module in own]
    bad = [r for r in results if not r.ok]
    holds = _base_holds(loaded) if bad and loaded.layers else set()
    changed = [r for r in bad if (r.module, r.name) in holds]
    failed = [r for r in bad if r not in changed]
    counts = [(len(results) - len(bad), "passed"), (len(failed), "failed"), (len(changed), "changed by the layers")]
    click.echo(f"{printable(name)}: {', '.join(f'{n} {word}' for n, word in counts if n) or 'no examples'}")
    for r in changed:
        click.echo(f"  changed by the layers: {printable(r.name)}")
    for r in failed:
        click.echo(f"  failed: {printable(r.name)}\n")
        _findings([r.problem] if r.problem is not None else [])
    return len(results) - len(bad), len(failed), len(changed)


def _base_holds(loaded: "Loaded") -> set[tuple[str, str]]:
    """The examples that hold in the game without its layers."""
    from rulelang import pipeline
    from rulelang.claims import run_claims

    game = next(m.name for m in loaded.modules if m.header and m.header.word == "game")
    beside = loaded.folder / f"{game}{pipeline.SUFFIX}" if loaded.folder is not None else Path(game)
    base = pipeline.load(str(beside) if sort_of(beside) == "file" else game)
    return {(r.module, r.name) for r in run_claims(base) if r.ok} if base.ok else set()


# ---------------------------------------------------------------- mutate


@cli.command()
@click.argument("game")
@with_option
@click.option("--matches", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER", help="Saved matches.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Only so many changes, drawn at random.")
@click.option("--seed", type=int, default=0, help="For another draw; the same seed, the same changes.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="For people or for programs.")
def mutate(game: str, layers: tuple[str, ...], matches: Path | None, sample: int | None, seed: int, form: str) -> int:
    """Makes small changes to the rules, one at a time, and lists those that no example, claim or saved match notices."""
    from rulelang import mutate as m
    from rulelang.diagnostics import printable
    from rulelang.series import cores

    found = list(m.read_matches(matches, game, _layers(layers))) if matches is not None else []
    for name, wrong in ((n, x) for n, x in found if isinstance(x, str)):
        _fail(f"{name} is left out: {wrong}")
    plan = m.plan(game, _layers(layers), ((n, x) for n, x in found if not isinstance(x, str)))
    chosen = m.choose(plan, sample, seed)
    with _progress(len(chosen), "changes") as done:
        report = m.run(plan, chosen, cores(), done)
    if form == "json":
        click.echo(json.dumps(m.plain(report), indent=2))
    else:
        click.echo("\n".join(printable(line) for text in m.told(report) for line in text.split("\n")))
    return 1 if report.unexplained or report.outdated or report.of(m.FAULT) else 0


# ---------------------------------------------------------------- play and replay


@cli.command()
@click.argument("game", required=False)
@click.option("--players", type=int, metavar="N", help="How many play.")
@click.option("--seats", metavar="LIST", help="human or random for each seat, such as human,random,random.")
@with_option
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the game.")
@click.option("--seed", type=int, help="For the same shuffles again.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Keep the match in this file, after every choice.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FILE", help="Go on with a saved match.")
@click.pass_context
def play(
    ctx: click.Context, game: str | None, players: int | None, seats: str | None, layers: tuple[str, ...],
    options: tuple[str, ...], seed: int | None, save: Path | None, resume: Path | None,
) -> None:  # fmt: skip
    """Plays a match: you against random seats, several people at one screen, or random seats alone."""
    from rulelang.api import load
    from rulelang.diagnostics import several
    from rulelang.files import SaveFile

    loaded = load(game, _layers(layers)) if game is not None else None
    if resume is not None and (players is not None or seed is not None or options or (layers and game is None)):
        raise UsageError("a resumed match has its players, seed, options and layers: leave them out")
    if resume is None and loaded is None:
        raise UsageError("which game?  `rulelang list` shows the bundled ones")
    sorts = _seats(seats)
    people = "human" in sorts if sorts else sys.stdin.isatty()
    path = save or (resume if people else None)
    held = SaveFile.take(path) if path is not None else None
    try:
        if resume is not None:
            match = _read_match(resume, loaded, held)
        else:
            assert loaded is not None
            count = players if players is not None else len(sorts) if sorts else loaded.players[0]
            match = loaded.start(count, seed, dict(_setting(o) for o in options))
        sorts = sorts or ("human" if people else "random", *("random",) * (match.players - 1))
        if len(sorts) != match.players:
            raise UsageError(f"--seats names {several(len(sorts), 'seat')}, but {several(match.players, 'player')} play")
        if save is not None and held is not None and held.known is None and sort_of(save):
            raise UsageError(f"{save}: exists already; go on with it (--resume {save}) or name another file")
        if people:
            _play_with_people(match, sorts, held, ctx.color)
        else:
            _play_alone(match, held)
    finally:
        if held is not None:
            held.release()


def _seats(given: str | None) -> tuple[str, ...]:
    from rulelang.diagnostics import near

    sorts = tuple(part.strip() for part in given.split(",")) if given is not None else ()
    for sort in sorts:
        if sort not in SEATS:
            raise UsageError(f"a seat is {' or '.join(SEATS)}, not `{sort}`" + (f"; {hint}" if (hint := near(sort, SEATS)) else ""))
    return sorts


def _setting(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals:
        raise UsageError(f"--option {given}: write NAME=VALUE")
    return name.strip(), value.strip()


def _read_match(path: Path, game: "Game | None" = None, held: "SaveFile | None" = None) -> "Match":
    """The match in a file; if that is the file in which it will be kept, what it holds now is remembered."""
    from rulelang.files import read_some
    from rulelang.matchfile import resume

    raw = read_some(path, USUAL.save, str(path))
    if held is not None and held.path == Path(os.path.realpath(path)):
        held.known = raw
    try:
        return resume(raw, game)
    except MatchFileError as err:
        raise MatchFileError(f"{path}: {err}", err.line) from err


def _play_with_people(match: "Match", seats: tuple[str, ...], held: "SaveFile | None", color: bool | None) -> None:
    from rich.console import Console

    from rulelang.board import Screen
    from rulelang.terminal import Session

    console = Console(highlight=False, color_system=None if color is False else "auto", force_terminal=True if color else None)
    Session(match, seats, Screen(console), held).play()


def _play_alone(match: "Match", held: "SaveFile | None") -> None:
    from rulelang.terminal import choose_at_random

    try:
        while not match.is_over:
            choose_at_random(match, match.decisions[0].player)
    except RuleError:  # what came before explains it
        _tell(match)
        raise
    finally:
        if held is not None:
            held.write(match.to_text())
    _tell(match)


def _tell(match: "Match") -> None:
    from rulelang.diagnostics import several
    from rulelang.telling import result, story

    layers = f" with {', '.join(match.game.layers)}" if match.game.layers else ""
    _say([(0, f"{match.game.title}{layers}, {several(match.players, 'player')}, seed {match.seed}")])
    _say(story(match))
    _say(result(match))


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
def replay(file: Path) -> None:
    """The story and the result of a match file, and who chooses next if it is not over."""
    from rulelang.telling import asked

    match = _read_match(file)
    _tell(match)
    _say(asked(match))


# ---------------------------------------------------------------- looking inside


@cli.command()
@click.argument("game")
@with_option
@click.option("--format", "form", type=click.Choice(["dot", "mermaid"]), default="dot")
@click.option("--map", "chart", metavar="NAME", help="A map that the rules declare, in place of the course of the game.")
def graph(game: str, layers: tuple[str, ...], form: str, chart: str | None) -> None:
    """A picture: the course of the game with its steps, loops and decisions, or a map of it."""
    from rulelang import pipeline
    from rulelang.graph import picture
    from rulelang.graph.compile import compile_graph

    checked = pipeline.require(pipeline.load(game, _layers(layers)))
    title = checked.title if chart is None else f"{checked.title}: {chart}"
    drawn = picture.draw(compile_graph(checked.flow)) if chart is None else picture.draw_map(_map(checked, chart))
    click.echo((picture.dot if form == "dot" else picture.mermaid)(drawn, title))


def _map(game: "core.Game", name: str) -> "core.Map":
    from rulelang.diagnostics import near

    if name in game.maps:
        return game.maps[name]
    if not game.maps:
        raise UsageError(f"{game.name} declares no map: it has no line `map NAME(...)`")
    hint = near(name, game.maps) or f"it has: {', '.join(game.maps)}"
    raise UsageError(f"{game.name} has no map `{name}`; {hint}")


@cli.command()
@click.argument("stage", type=click.Choice(STAGES))
@click.argument("game")
@with_option
def show(stage: str, game: str, layers: tuple[str, ...]) -> None:
    """What a stage made of the rules; `labels` is everything that a variant can change."""
    from rulelang import pipeline
    from rulelang.show import show_stage

    loaded = pipeline.load(game, _layers(layers))
    if stage != "surface":
        pipeline.require(loaded)
    for line in show_stage(stage, loaded):
        click.echo(line)


# ---------------------------------------------------------------- new and explain


@cli.command()
@click.argument("name")
@click.option("--from", "base", metavar="GAME", help="A variant of this game.")
def new(name: str, base: str | None) -> None:
    """A new game in a folder NAME, or with --from a variant in a file NAME.rule; nothing is overwritten."""
    from rulelang import pipeline
    from rulelang.files import write_new
    from rulelang.show import show_labels

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        better = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")
        raise UsageError(f"`{name}` is no name: small letters, digits and _" + (f", such as `{better}`" if better else ""))
    if name in pipeline.games() or (base is None and sort_of(pipeline.bundled("stdlib") / f"{name}.rule")):
        raise UsageError(f"`{name}` is a bundled game or library: choose another name")
    title = name.replace("_", " ").capitalize()
    if base is None:
        path, text = Path(name) / f"{name}.rule", _template("game")
        path.parent.mkdir(exist_ok=True)
        target = name
    else:
        loaded = pipeline.load(base)
        game = pipeline.require(loaded)
        folder = Path() if base in pipeline.games() else pipeline.find(base).parent
        lines = [line for line in show_labels(loaded) if "stdlib" not in line]
        first = {sort: text for text, sort, *_ in reversed([line.split() for line in lines])}
        path, text = folder / f"{name}.rule", _template("variant").replace("@base", game.name)
        for sort in ("step", "option", "define"):
            text = text.replace(f"@{sort}", first.get(sort, sort.upper()))
        text = text.replace("@labels", "\n".join(f"#   {line}" for line in lines))
        target = str(path)
    write_new(path, text.replace("@name", name).replace("@title", title))
    click.echo(f"wrote {path}; now: rulelang check {target}, rulelang test {target}, rulelang play {target}")


def _template(name: str) -> str:
    from importlib.resources import files

    return files("rulelang").joinpath(f"templates/{name}.rule").read_text(encoding="utf-8")


@cli.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """What a finding such as R301 means, with a wrong rule and the rule mended; without a code, a list of all."""
    from rulelang.codes import CODES

    if code is None:
        for known, what in CODES.items():
            click.echo(f"{known}  {what.title}")
        return
    digits = re.search(r"\d+", code)
    wanted = f"R{digits.group():0>3}" if digits else code.upper()
    if wanted not in CODES:
        nearest = min(CODES, key=lambda known: abs(int(known[1:]) - int(wanted[1:]))) if digits else ""
        raise UsageError(f"no finding `{code}`; {f'the nearest is `{nearest}`, and ' if nearest else ''}`rulelang explain` lists all")
    from rulelang.explain import explain as explained

    about = explained(wanted)
    _say([(0, f"{wanted}: {about.title}")])
    click.echo("\n" + textwrap.fill(about.text, 100))
    for word, text in (("Wrong", about.wrong), ("What is said about it", about.found), ("Mended", about.mended)):
        click.echo(f"\n{word}:\n\n" + "\n".join(f"    {line}".rstrip() for line in text.split("\n")))
