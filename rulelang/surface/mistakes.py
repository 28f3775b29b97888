"""Where reading stopped, in the words of an author: what is wrong there, and how it was probably meant.

Each of the functions below knows one family of mistakes, and answers with a slip or with nothing.  The first answer
counts; what none of them knows is said in general words."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice

from attrs import frozen

from rulelang.diagnostics import near
from rulelang.source import SourceFile, Span
from rulelang.surface.phrasing import meant

TOP_WORDS = (
    "game", "variant", "library", "data", "use", "option", "kind", "ring", "pieces", "table", "map", "counter", "status", "zone",
    "pile", "slot", "each", "define", "verb", "step", "repeat", "during", "ranking", "show", "always", "example", "replace", "before",
    "after", "offer", "extend",
)  # fmt: skip
RULE_WORDS = (
    "raise", "lower", "set", "move", "shuffle", "if", "otherwise", "let", "choose", "may", "together", "secretly", "in", "end",
    "give", "needs", "say",
)  # fmt: skip
_SMALL_WORDS = """
    among into onto to from with against under on at for by is in not and or of has have who where such that each every
    some no first last any exactly up least most number total largest smallest over after starting player players opponent
    opponents you your their none yes public private hidden starts excess beyond below lost all own usually only then ties
    fewest times mod rounded source random turn chooses during gives default per top bottom reversed owner position true
"""
LANGUAGE = frozenset([*TOP_WORDS, *RULE_WORDS, *_SMALL_WORDS.split()])
LONG = 1000  # a line beyond that is not looked at for mistakes that people make
LONGEST_NUMBER = 9
MOST_HALVES = 5  # of a line, each of which is read
_BLOCKS = ("if", "otherwise", "choose", "repeat", "step", "together", "secretly", "may")
_PLACES = "counter|status|zone|pile|slot"
_NAMED = rf"^\s*(?:replace\s+)?(?:{_PLACES}|table|map|define|verb|step|repeat|option|let|game|variant|library|data)\s+"
_KINDS = r"^\s*(?:extend\s+)?(?:kind|ring|pieces)\s+"
_WHAT = {
    "_NL": "the end of the line",
    "_INDENT": "an indented line",
    "NAME": "a name",
    "TYPE": "a kind (with a capital)",
    "NUMBER": "a number",
    "STRING": 'a text in "quotes"',
    "COLON": "`:`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "LSQB": "`[`",
    "EQUAL": "`=`",
    "DOT": "`.`",
    "PREP": "a preposition",
    "BEST": "`most` or `fewest`",
    "WHOSE": "`your` or `their`",
    "VISIBLE": "`public`, `private` or `hidden`",
    "PLACE": "a place (counter, status, zone, pile, slot)",
    "FOLD": "`number of`, `some`, `first` or `last`",
    "FOLD_OVER": "`total of`, `largest of` or `smallest of`",
    "QUANTITY": "`exactly`, `up to` or `at least`",
    "ANY_NUMBER": "`any number of`",
    "SUCH": "`where` or `who have`",
    "COMPARE": "a comparison",
    "SIGN": "`+` or `-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "ORDER": "`starting with` or `after`",
    "EXCESS": "`beyond` or `below`",
    "TOGETHER": "`together` or `secretly`",
    "ROUNDED": "`rounded down` or `rounded up`",
    "ROWED": "`table` or `map`",
}


Reads = Callable[[int, str], bool]  # could this stand in the place of that line?
Mends = Callable[[int, str], str]  # the same line, mended to its end; nothing if that is not known


@frozen
class Stop:
    """Where reading stopped: in which declaration, at what, and what could stand there instead."""

    source: SourceFile
    start: int  # of the declaration, or of the value between the brackets of a text
    end: int
    at: int
    found: str  # the sort of the word at this place; empty for a sign that begins no word
    expected: frozenset[str]
    missing: str = ""  # a sign with which it would go on
    in_text: bool = False  # `"{points +} for {you}"`
    reads: Reads = lambda line, mended: True
    mends: Mends = lambda line, mended: mended

    def would_read(self, mended: str) -> bool:
        """Is the line a whole one, written like this?"""
        return self.in_text or self.reads(self.line, mended)

    @property
    def line(self) -> int:
        return self.source.line_of(min(self.at, max(0, len(self.source.text) - 1)))

    @property
    def column(self) -> int:
        return self.at - self.source.line_starts[self.line - 1]

    @property
    def head(self) -> str:
        return self.source.line_text(self.line)[max(0, self.column - (self.at - self.start)) : self.column]

    @property
    def rest(self) -> str:
        text = self.source.line_text(self.line)
        return bare(text[self.column : min(len(text), self.column + max(0, self.end - self.at))])

    @property
    def sort(self) -> str:
        """The first word of the declaration."""
        return self.source.text[self.start : self.end].split(maxsplit=1)[0]

    @property
    def word(self) -> str:
        found = re.match(r"[^\W\d]\w*|\d+|.", self.rest)
        return found.group() if found else ""

    @property
    def at_line_end(self) -> bool:
        return self.found in ("_NL", "$END", "_DEDENT") or re.fullmatch(r"(\{[^}]*\})?", self.rest) is not None

    def span(self, length: int, at: int | None = None) -> Span:
        first = self.at if at is None else at
        return Span(self.source, first, first + max(1, length))


@frozen
class Slip:
    """What to tell the author.  Who writes `phrase` again makes the same mistake, and is not told twice; `meant` is how it
    should read, and is no unknown name."""

    message: str
    hint: str
    span: Span
    code: str = "R001"
    phrase: str = ""
    meant: str = ""
    mended: str = ""  # the whole line, if it is known how it reads


def slip(stop: Stop) -> Slip:
    """The one thing to say about this place."""
    looks: tuple[Callable[[Stop], Slip | None], ...] = (_bracket, _margin, _misplaced, _block, _above)
    if stop.in_text:
        looks = (_bracket, _name, _look, _clause, _missing)
    elif len(stop.source.line_text(stop.line)) <= LONG:
        looks += (_row_with_or, _comma_at_the_end, _percent, _name, _foreign, _said, _two_effects, _look, _title, _short, _clause, _missing)
    return next((said for look in looks if (said := look(stop)) is not None), None) or _anything(stop)


def bare(line: str) -> str:
    """A line without its comment."""
    return re.sub(r'("[^"]*")|#.*', lambda m: m[1] or "", line).rstrip()


def _line_span(source: SourceFile, line: int) -> Span:
    text = source.line_text(line)
    first = source.line_starts[line - 1] + len(text) - len(text.lstrip())
    return Span(source, first, first + max(1, len(bare(text).strip())))


def _lines_above(stop: Stop, line: int) -> Iterator[int]:
    """The lines before this one in its declaration, the nearest first, without those that say nothing."""
    first = stop.source.line_of(stop.start)
    return (n for n in range(line - 1, first - 1, -1) if bare(stop.source.line_text(n)).strip())


# ---------------------------------------------------------------- blocks and brackets


def _bracket(stop: Stop) -> Slip | None:
    """A bracket that stays open swallows the lines below it, so reading stops far from the mistake."""
    open_at: list[int] = []
    for sign in re.finditer(r'"[^"\n]*"|#[^\n]*|[()\[\]]', stop.source.text[stop.start : stop.at]):
        if sign.group() in ("(", "["):
            open_at.append(stop.start + sign.start())
        elif sign.group() in (")", "]") and open_at:
            open_at.pop()
    if open_at and (stop.at_line_end or stop.source.line_of(open_at[-1]) != stop.line):
        sign_text = stop.source.text[open_at[-1]]
        close = {"(": ")", "[": "]"}[sign_text]
        return Slip(f"this `{sign_text}` is not closed", f"write the `{close}` where it ends", stop.span(1, open_at[-1]))
    if not open_at and stop.word in (")", "]"):
        return Slip(f"a `{stop.word}` too many", "leave it out, or open it before", stop.span(1))
    return None


def _margin(stop: Stop) -> Slip | None:
    """What stands at the left margin is a declaration."""
    if stop.at != stop.start or stop.word in TOP_WORDS:
        return None
    if stop.word in RULE_WORDS:
        hint = _replaced(stop) or "what happens stands below a line `step NAME`, indented by four spaces"
        ended = re.match(r"end\s+(\w+)", stop.rest)
        if ended and re.search(rf"^repeat\s+{ended[1]}\b", stop.source.text, re.MULTILINE):
            hint = f"it belongs to `repeat {ended[1]}`: indent it by four spaces"
        return Slip(f"`{stop.word}` stands at the left margin, in no step", hint, stop.span(len(stop.word)), "R003")
    if stop.word in "{}":
        return Slip(f"a `{stop.word}` too many", "leave it out: that lines are indented is enough", stop.span(1))
    said = {"phase": "step", "round": "repeat", "rounds": "repeat", "setup": "step", "card": "pieces", "cards": "pieces", "deck": "pile"}
    hint = near(stop.word, TOP_WORDS) or (f"perhaps a `{said[stop.word]}`?" if stop.word in said else "")
    hint = hint or "a line at the left margin begins with `counter`, `zone`, `each player`, `define`, `step`, `repeat` or the like"
    return Slip(f"`{stop.word}` declares nothing", hint, stop.span(len(stop.word)))


def _replaced(stop: Stop) -> str:
    """`if frosty`, and below it `replace define apple_price = original + 2`"""
    shown = re.match(r"if\s+(.+)\n(?:\s*(?:#.*)?\n)*\s+replace\s+define\s+([^=\n]+?)\s*=\s*(.+)", stop.source.text[stop.start : stop.end])
    if shown is None:
        return ""
    test, name, value = (bare(part) for part in shown.groups())
    cases = f"`give {value} if {test}` and `give original otherwise`"
    return f"the condition belongs into the definition: write `replace define {name}`, and below it, indented by four spaces, {cases}"


def _misplaced(stop: Stop) -> Slip | None:
    """A rule where only declarations stand, or only options."""
    ahead = re.fullmatch(r"\s*(raise|lower|set|move|shuffle)\s+", stop.head)
    if ahead and {"ANY", "QUANTITY"} <= stop.expected and (option := _option_above(stop)):
        at = stop.at - len(stop.head) + ahead.start(1)
        return Slip(f"`{ahead[1]}` is no option", f"it belongs to `{option}`: indent it by four spaces more", stop.span(len(ahead[1]), at))
    if stop.head.strip() or stop.word not in LANGUAGE or stop.at_line_end:
        return None
    here = stop.span(len(stop.word))
    if stop.sort == "each" and {"PLACE", "DEFINE"} <= stop.expected:
        hint = "there places, pieces, definitions and verbs are declared; what happens stands in a step, or in a verb"
        return Slip(f"`{stop.word}` cannot stand directly below `each player`", hint, here)
    if stop.expected - {"_DEDENT"} == {"NAME"}:
        option = _option_above(stop)
        hint = f"it belongs to `{option}`: indent it by four spaces more" if option else ""
        return Slip(f"`{stop.word}` is no option", hint or "each line below `choose` begins with the name of an option", here)
    return None


def _option_above(stop: Stop) -> str:
    """The name of the option at whose level this line stands."""
    shown = stop.source.line_text(stop.line)
    indent = len(shown) - len(shown.lstrip())
    for n in _lines_above(stop, stop.line):
        above = stop.source.line_text(n)
        depth = len(above) - len(above.lstrip())
        if depth <= indent:
            name = re.match(r"\s*([a-z]\w*)", above)
            if depth == indent and name and name[1] in RULE_WORDS:
                continue  # another line of that option, too far left as well
            return name[1] if depth == indent and name else ""
    return ""


def _block(stop: Stop) -> Slip | None:
    """A line that opens a block, and no block."""
    if stop.expected - {"MARK"} != {"_INDENT"}:
        return None
    here = stop.line if stop.found not in ("_NL", "$END", "_DEDENT") else stop.line + 1
    opener = next(_lines_above(stop, here), stop.source.line_of(stop.start))
    shown = bare(stop.source.line_text(opener)).strip()
    if stop.at_line_end:
        hint = "write what belongs to it below, indented by four spaces"
        return Slip(f"nothing stands below `{shown}`", hint, _line_span(stop.source, opener), "R003")
    hint = f"it belongs to `{shown}`: indent it by four spaces more"
    return Slip("this line is not indented", hint, _line_span(stop.source, here), "R003")


_OPENERS = (  # words of other languages that open a block
    (r"(?P<found>else\s*if|elif|elsif|elseif)\b\s*(?P<c>.*)", "`{found}` is no word of the language", "write `otherwise if {c}`"),
    (r"(?P<found>else)\b", "`else` is no word of the language", "write `otherwise`"),
    (r"(?P<found>while)\b\s*(?P<c>.*)", "`while` is no word of the language",
     "write `repeat LABEL`, and where the question is asked `end LABEL if ...`"),
    (r"(?P<found>until)\b\s*(?P<c>.*)", "`until` is no word of the language",
     "write `repeat LABEL`, and where the question is asked `end LABEL if {c}`"),
    (r"(?P<found>when|whenever)\b\s*(?P<c>.*)", "`{found}` is no word of the language", "write `if {c}`"),
    (r"(?P<found>unless)\b\s*(?P<c>.*)", "`unless` is no word of the language", "write `if not ({c})`"),
    (r"(?P<found>(?:for\s+)?(?:each|every|all))\s+(?P<who>[a-z]\w*)", "all at once, or one after the other?",
     "write `together each {who}`, or `in turn each {who} starting with (first player)`"),
    (r"(?P<found>phase|round|turn|setup|part)\b\s*(?P<c>.*)", "`{found}` is no word of the language", "a part of the course is a `step`"),
)  # fmt: skip
_CONDITIONS = 6  # so many of them are followed by a condition


def _foreign(stop: Stop) -> Slip | None:
    """`else if season is dry`: the line stops at `is`, and is wrong from its beginning on."""
    text = bare(stop.source.line_text(stop.line))
    opens = text[:1] == " " and stop.sort in ("step", "repeat", "verb", "before", "after", "replace", "each", "define")
    return _opener(stop, stop.line, _OPENERS[:_CONDITIONS]) if opens and not stop.at_line_end else None


def _opener(stop: Stop, line: int, openers: tuple[tuple[str, str, str], ...]) -> Slip | None:
    for look, message, hint in openers:
        if found := re.match(rf"\s*{look}", bare(stop.source.line_text(line))):
            first = stop.source.line_starts[line - 1] + found.start("found")
            groups = found.groupdict("")
            return Slip(message.format(**groups), hint.format(**groups), stop.span(len(groups["found"]), first))
    return None


def _above(stop: Stop) -> Slip | None:
    """An indented line below one that opens no block: perhaps the author thinks that it does."""
    if stop.found != "_INDENT":
        return None
    last = len(stop.source.line_starts)
    line = next((n for n in range(stop.line + 1, last + 1) if bare(stop.source.line_text(n)).strip()), last)
    above = next(_lines_above(stop, line), line)
    text = bare(stop.source.line_text(above))
    if found := _opener(stop, above, _OPENERS):
        return found
    word = re.match(r"\s*(\w+)", text)
    if word and word[1] not in RULE_WORDS and (meant := near(word[1], _BLOCKS)):
        return Slip(f"`{word[1]}` opens no block", meant, stop.span(len(word[1]), stop.source.line_starts[above - 1] + word.start(1)))
    hint = f"move it to the left, below `{text.strip()}`"
    return Slip("this line is indented, but the line above it opens no block", hint, _line_span(stop.source, line), "R003")


# ---------------------------------------------------------------- names and texts

_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "æ": "ae", "ø": "oe"})


def _better_name(word: str, kind: bool = False) -> str:
    """`Goldmünzen` as a name: `goldmuenzen`; as a kind: `Goldmuenzen`"""
    word = word.translate(_LETTERS)
    word = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    if kind:
        return "".join(part[:1].upper() + part[1:] for part in re.split(r"[\W_]+", word))
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()
    return re.sub(r"\W+", "_", word).strip("_0123456789") or "another_name"


def _name(stop: Stop) -> Slip | None:
    """A word that cannot be a name, or not here."""
    before = re.search(r"\w*$", stop.head)
    first = stop.at - len(before.group() if before else "")
    whole = re.match(r"\w*", stop.source.text[first : first + 200])
    word = whole.group() if whole else ""
    head = stop.head[: len(stop.head) - (stop.at - first)]
    here = stop.span(len(word), first)
    if not word.isascii() or (re.match(r"[^\W\d]", word) and not stop.found and not re.fullmatch(r"[a-z0-9_]+", word)):
        as_kind = word[0].isupper() and ("TYPE" in stop.expected or re.match(_KINDS, head) is not None)
        better = _better_name(word, as_kind)
        hint = f"a name has the letters a to z, digits and `_`: write `{better}`"
        return Slip(f"`{word}` is no name", hint, here, "R001", word, better)
    if stop.found == "TYPE" and "NAME" in stop.expected and "TYPE" not in stop.expected:
        better = word.lower() if word.lower() in LANGUAGE else _better_name(word)
        return Slip(f"`{word}` has a capital, like a kind", f"write it small: `{better}`", here, "R001", word, better)
    small = re.search(r"\b([A-Z]\w*)\s+$", stop.head)
    if small and small[1].lower() in LANGUAGE:
        at = stop.at - len(stop.head) + small.start(1)
        return Slip(f"`{small[1]}` has a capital", f"write it small: `{small[1].lower()}`", stop.span(len(small[1]), at))
    if word[:1].isupper() and word.lower() in LANGUAGE:
        return Slip(f"`{word}` has a capital", f"write it small: `{word.lower()}`", here)
    if re.fullmatch(_KINDS, stop.head) and stop.found == "NAME":
        words = re.match(r"\w+(?: +\w+)*", stop.rest)
        better = _better_name(words.group() if words else word, True)
        return Slip(f"`{word}` has no capital", f"kinds and pieces begin with a capital: `{better}`", here, "R001", word, better)
    if re.fullmatch(_NAMED, stop.head) and re.fullmatch(r"[a-z]\w*", word):
        return Slip(f"`{word}` is a word of the language", "choose another name", here, "R102")
    return _two_words(stop)


_PARTS = r"(?!be\b|is\b|to\b)(?:-?\s*[a-z]\w*)+"


def _two_words(stop: Stop) -> Slip | None:
    """`counter gold coins: 0..`, `define own docks = 3`, `verb go far n: number`, `kind Big City: riga`"""
    kind = re.fullmatch(rf"({_KINDS})([A-Z]\w*)\s+", stop.head)
    defined = re.fullmatch(r"(\s*(?:replace\s+)?(?:define|verb)\s+)([a-z]\w*\s+[a-z]\w*)\s*", stop.head)
    two = re.fullmatch(rf"({_NAMED})(?!until\b|while\b)([a-z]\w*)[ -]*", stop.head)
    if kind:
        more = re.match(r"\w+(?:\s+\w+)*", stop.rest) if stop.found in ("NAME", "TYPE") else None
        return _one_word(stop, kind.start(2), more.group(), True) if more else None
    if defined and stop.expected == {"COLON"}:
        more = re.match(r"(?:(?!gives\b)[a-z]\w*\b(?!\s*:)\s*)*", stop.rest) if stop.found == "NAME" else None
        return _without_type(stop, defined[2]) or _one_word(stop, defined.start(2), more.group() if more else "")
    more = re.match(_PARTS, stop.rest)
    if two and more and (stop.found == "NAME" or stop.word == "-") and not (_HEADED.match(stop.head) and " " in more.group().strip()):
        return _one_word(stop, two.start(2), more.group())
    return None


def _one_word(stop: Stop, first: int, more: str, kind: bool = False) -> Slip:
    phrase = f"{stop.head[first:]}{more}".strip()
    name = _better_name(phrase, kind)
    return Slip("a name is one word", f"write `{name}`", stop.span(len(phrase), stop.at - len(stop.head) + first), "R001", phrase, name)


def _without_type(stop: Stop, words: str) -> Slip | None:
    """`define double n = n * 2`: the second word is no part of the name."""
    name = words.split()[1]
    if stop.word != "=" or not re.search(rf"\b{name}\b", stop.rest):
        return None
    hint = f"say what it is: `{stop.head.strip()}: number {stop.rest}`"
    return Slip(f"what is `{name}`?", hint, stop.span(len(name), stop.at - len(stop.head) + stop.head.rindex(name)))


_HEADED = re.compile(r"^\s*(?:step|repeat|verb)\s")


def _title(stop: Stop) -> Slip | None:
    """Titles and headings stand in quotes."""
    if stop.rest.startswith('"') and stop.rest.count('"') == 1:
        return Slip("this text has no end", 'end it with `"` on the same line', stop.span(len(stop.rest)))
    if re.match(r"[“”„«»‘’'`]", stop.rest):
        return Slip(f"`{stop.rest[0]}` is no quote of the language", 'write `"` before and after a text', stop.span(1))
    if "STRING" not in stop.expected or not re.match(r"^(?:game|variant|library|data)\s|\s*(?:step|repeat|verb)\s", stop.head):
        return None
    if stop.found not in ("NAME", "TYPE"):
        hint = f'write `{stop.head.strip()} "Title"{stop.rest}`'
        return Slip("the title is missing", hint, _line_span(stop.source, stop.line)) if stop.expected == {"STRING"} else None
    title, comma, more = stop.rest.partition(",")
    title = re.sub(r'\s*\{.*|"', "", title)
    word = "heading" if _HEADED.match(stop.head) else "title"
    return Slip(f"a {word} stands in quotes", f'write `{stop.head.strip()} "{title.strip()}"{comma}{more}`', stop.span(len(title.strip())))


# ---------------------------------------------------------------- mistakes that are known by their looks

_A_PLACE = rf"^\s*(?!(?:{'|'.join(TOP_WORDS)})\b)(?P<place>(?:your |their )?[a-z]\w*(?:\([^()]*\))?(?: of \w+)?)\s*$"
_TEST = r"\b(?:if|where|who|has|have|that|needs|and|or|not|give)\b.*"

# What stands before, what stands there; what is wrong, what to do.  `{mended}` is the line with the last word of the
# entry in the place of what was found, and of what stands before it from `cut` on.
_LOOKS: tuple[tuple[str, str, str, str, str], ...] = (
    (_A_PLACE, r"\+=\s*(?P<n>.+)", "`+=` is no word of the language", "write `raise {place} by {n}`", ""),
    (_A_PLACE, r"-=\s*(?P<n>.+)", "`-=` is no word of the language", "write `lower {place} by {n}`", ""),
    (_A_PLACE, r"\+\+", "`++` is no word of the language", "write `raise {place} by 1`", ""),
    (_A_PLACE, r"--", "`--` is no word of the language", "write `lower {place} by 1`", ""),
    (_A_PLACE, r":?=(?!=)\s*(?P<v>.+)", "`=` changes nothing", "write `set {place} to {v}`", ""),
    (r"^\s*set\s+(?P<place>.+?)\s*$", r"[:=]+\s*(?P<v>.+)", "`set` is written with `to`", "write `set {place} to {v}`", ""),
    (r"^\s*(?P<sort>counter|status)\s+(?P<name>\w+)\s*$", r"=\s*(?P<v>\w+)", "`=` says nothing of a {sort}",
     "say what it can be, who sees it and how it starts: `{sort} {name}: 0.., public, starts at {v}`", ""),
    (_KINDS + r"\w+(?P<cut>\s*)$", r"=\s*", "what there is of it stands after a `:`", "write `{mended}`", ": "),
    (r"^\s*define\s+.*\w(?P<cut>\s+is\s+)$", "", "a definition is written with `=`", "write `{mended}`", " = "),
    (r"^\s*define\s.*$", r":\s", "a definition is written with `=`", "write `{mended}`", " = "),
    (r"^\s*let\s+\w+\s*$", r"(?:is|be|to|:=|:)\s", "`let` is written with `=`", "write `{mended}`", " = "),
    (_TEST, r"===?\s*|=(?![<>])\s*", "`{found}` compares nothing", "write `{mended}`", "is "),
    (_TEST, r"(?:!=|≠)\s*", "`{found}` is no word of the language", "write `{mended}`", "is not "),
    (_TEST + r"(?P<cut><)$", r">\s*", "`<>` is no word of the language", "write `{mended}`", "is not "),
    (r"\b(?P<cut>is\s+)(?P<w>greater|more|bigger|higher|larger)\s+$", r"(?:than\s+)?", "`is {w}` is written in signs",
     "write `{mended}`", "> "),
    (r"\b(?P<cut>is\s+)(?P<w>less|smaller|lower|fewer)\s+$", r"(?:than\s+)?", "`is {w}` is written in signs",
     "write `{mended}`", "< "),
    (r"\b(?P<cut>is\s+)$", r"at least\s+", "`is at least` is written in signs", "write `{mended}`", ">= "),
    (r"\b(?P<cut>is\s+)$", r"at most\s+", "`is at most` is written in signs", "write `{mended}`", "<= "),
    (r"(?:players\s+|[:(]\s*)\d+(?P<cut>\s*)$", r"(?:to|-|–|bis)\s*(?=\d)", "a range is written with two dots", "write `{mended}`", ".."),
    (r"\d\.\.$", r"\.+", "a range is written with two dots", "write `{mended}`", ""),
    ("", r"(?:=<|≤)\s*", "`{found}` is no word of the language", "write `{mended}`", "<= "),
    ("", r"(?:=>|≥)\s*", "`{found}` is no word of the language", "write `{mended}`", ">= "),
    ("", r"&&?\s*", "`{found}` is no word of the language", "write `{mended}`", "and "),
    ("", r"\|\|?\s*", "`{found}` is no word of the language", "write `{mended}`", "or "),
    ("", r"!\s*", "`!` is no word of the language", "write `{mended}`", "not "),
    ("", r"[×·]\s*", "`{found}` is no word of the language", "write `{mended}`", "* "),
    ("", r"[–—]\s*", "this dash is no minus", "write `{mended}`", "- "),
    ("", r";\s*$", "a line needs no `;`", "leave it out", ""),
    (r"/$", r"/", "`//` begins no comment", "a comment begins with `#`", ""),
    ("", r":$", "a `:` too many", "leave it out: the lines below are indented, and that is enough", ""),
    ("", r"\{[^}]*$", "a `{found}` too many", "leave it out: the lines below are indented, and that is enough", ""),
    (r"\d$", r"\.\d+", "numbers are whole", "count in smaller units, or round: `... / 2 rounded down`", ""),
    (r"^\s*raise\s+(?P<place>.+)\s+by\s*$", r"-\s*(?P<n>.+)", "nothing is raised by less than 0", "write `lower {place} by {n}`", ""),
    (r"^\s*lower\s+(?P<place>.+)\s+by\s*$", r"-\s*(?P<n>.+)", "nothing is lowered by less than 0", "write `raise {place} by {n}`", ""),
    (r":\s*$", r"-\d+", "a range has no number below 0", "what may go below 0 is a `number`: `counter debt: number, public`", ""),
    (r"(?:[=(,<>]|\b(?:by|to|at|is|give|from|with))\s*$", r"-\s*\d+", "a rule has no number below 0", "write `{mended}`", "0 {found}"),
    (r"(?P<one><=|>=|<|>)\s*(?P<middle>(?:(?!\b(?:and|or)\b)[^<>=])+?)\s*$", r"(?P<two><=|>=|<|>)\s*",
     "two comparisons in one", "write `{mended}`", "and {middle} {two} "),
    (r"\b(?:some|every|no)\b[^,]*$", r"have\b", "`have` is for many", "after `some`, `every` and `no` say `has`: `{mended}`", "has"),
    (r"^\s*(?:otherwise\s+)?if\b.*$", r"then\b.*", "`then` is not needed",
     "leave it out; what happens stands in the next line, indented by four spaces", ""),
    (r"^\s*(?:otherwise\s+)?if\b.*$", rf",?\s*(?P<verb>{'|'.join(RULE_WORDS)})\b", "what happens stands in a line of its own",
     "begin a new line with `{verb}`, indented by four spaces", ""),
    (r"^\s*let\b.*$", r"if\b", "`let` has no cases", "write a `define` with lines `give ... if ...` and `give ... otherwise`", ""),
    (r"^\s*(?:for\s+)?$", r"(?:for\s+)?(?:each|every|all)\s+(?P<who>[a-z]\w*)", "all at once, or one after the other?",
     "write `together each {who}`, or `in turn each {who} starting with (first player)`", ""),
    (r"^\s*(?:together|secretly|in turn)\s+$", r"(?:for\s+)?(?:all|every)\s+(?P<who>\w+?)s?\b", "`{found}` does not fit here",
     "write `{mended}`", "each {who}"),
    (r"^\s*move\s+(?P<n>\d+|\(.*\))\s+$", r"(?P<x>[a-z]\w*)", "so many of what?",
     "say the kind of the pieces, with its capital: `{mended}`", "{kind}"),
    (r"^\s*(?P<v>raise|lower)\s+(?P<x>\w+)\s+(?!by\b)\w(?!.*\bby\b).*$", "", "`{v}` is written with `by`", "write `{v} {x} by ...`", ""),
    (r"\b(?P<cut>(?P<w>largest|smallest|total)\s+(?P<x>[a-z]\w*)\s+)$", r"(?:of|in|among)\b", "`{w}` is written with `of` and `over`",
     "write `{mended}`", "{w} of {x} over"),
    (r"\b(?P<cut>(?P<w>total|largest|smallest|number)\s+(?P<x>(?!of\b|public\b)[\w(].*))$", "", "`{w}` is written with `of`",
     "write `{mended}`", "{w} of {x}"),
    (r"\b(?P<p>players|opponents)\s+(?P<w>(?!who\b|where\b)[a-z]\w*)\s+$", r"\w", "a word is missing after `{p}`",
     "perhaps `{p} who {w} ...`", ""),
    (r"^\s*(?!raise\b|lower\b)[a-z]\w*\s+(?P<n>\d+)\s+$", r"(?P<x>[a-z]\w*)\s+(?=(?:from|to|into|among|with|at|for)\b)",
     "`{x}` is not needed", "write `{mended}`", ""),
    (r"^\s*[a-z]\w*\s+(?P<n>\d+)\s+$", r"(?P<x>[a-z]\w*)", "a number and a name side by side",
     "a counter changes like this: `raise {x} by {n}`, `lower {x} by {n}`", ""),
    (r"\b(?:if|that|and|or|not)\s+(?P<cut>(?P<p>[a-z]\w*)\s+of\s+(?P<w>every|all|each|any|some|no)\s+)$",
     r"(?P<x>\w+?)s?\b(?P<more>.*)", "`{w}` comes first", "write `{mended}`", "{one} {x} has {p}{more}"),
    (r"^\s*(?:raise|lower|set|move)\b.*\bof\s+(?P<w>each|every|all)\s+$", r"(?P<x>\w+)", "`{w}` stands in a line of its own",
     "write `together each {x}`, and the rest below it, indented by four spaces", ""),
    (r"(?P<cut>\s+(?P<w>remainder|ties|shortage)\s+)$", "", "a `,` is missing before `{w}`", "write `{mended}`", ", {w} "),
    (r"^\s*$", r"[-*•]\s+", "a line needs no dash before it", "leave it out", ""),
    (r"\d\s+$", r"x\s+(?=\w)", "`x` is no sign", "write `{mended}`", "* "),
    (r"\b(?P<cut>(?P<w>all|any|an?|each|both)\s+(?P<x>player|opponent)s?\s+)$", r"(?P<h>has|have|who)\b",
     "`{w}` does not fit here", "write `{mended}`", "{one} {x} has"),
    (r"\b(?P<cut>(?P<a>the|an?)\s+)\w+\s+$", "", "`{a}` is no word of the language", "leave it out", ""),
    (r"^\s*in turn\s+each\s+\w+(?:\s+in\s+\w+)?\s+$", r"(?:from|beginning with|beginning at|starting at|starting from)\s+",
     "`{found}` does not fit here", "write `{mended}`", "starting with "),
    (r"^\s*(?P<cut>repeat\s+)$", r'"', "this loop has no name", "write `{mended}`", 'repeat rounds "'),
    (r"^\s*repeat\s+\w+(?P<cut>\s+)$", r"[\w(][^\",]*\btimes\b", "a `,` is missing before the number", "write `{mended}`", ", {whole}"),
    (r"^\s*(?:step|repeat|verb)\s+\w+\s+$", r"[\d.][^\"{{,]*", "a heading stands in quotes", "write `{mended}`", '"{whole}" '),
    (r"^\s*choose\s.*\bin\s.*$", r",\s*only if\s+", "a choice without a name of its own has no `only if`",
     "say what may be picked with `where`: `{mended}`", " where "),
    (r":\s*yes$", r"/\s*no\b", "`/` divides", "write `{mended}`", " or no"),
    (r"(?P<cut>\b(?P<x>\w+))$", r"'s?\s+(?P<p>[a-z]\w*)", "`'s` is no word of the language", "write `{mended}`", "{p} of {x}"),
    (r"\b(?P<cut>(?P<x>[a-z]\w*)\s+)(?:not|are(?: not)?)\s+$", r"empty\b", "`is` is missing before `not`", "write `{mended}`",
     "{x} is not empty"),
    (r"\b(?P<cut>(?P<x>[a-z]\w*)\s+are\s+)$", r"(?P<y>[a-z]\w*)", "`are` is no word of the language", "write `{mended}`", "{y} is {x}"),
    (r"\b(?:some|no|every|number of|first|last)\s+(?:\w+\s+in\s+)?\w+\s+$", r"(?:with|that|whose|having)\s+",
     "`{found}` does not fit here", "write `{mended}`", "where "),
    (r"\b(?P<cut>next\s+)$", r"(?P<k>[A-Z]\w*)", "`next` is no word of the language", "write `{mended}`", "first {k} after ..."),
    (r"^\s*(?:raise|lower)\b.*$", r"each$", "`each` is not needed", "leave it out: the line is for the player of its block", ""),
    (r"^\s*repeat\s+until\s+$", r"(?P<c>.+)", "`until` is no word of the language",
     "write `repeat LABEL`, and where the question is asked `end LABEL if {c}`", ""),
    (r"^\s*repeat\s+while\s+$", r".+", "`while` is no word of the language",
     "write `repeat LABEL`, and where the question is asked `end LABEL if ...`", ""),
    (r"^\s*(?P<who>\w+\s+chooses|choose)\s+(?:any\s+)?$", r"(?P<n>\d+)\s+(?P<what>[a-z].*)", "exactly {n}, or at most?",
     "write `{who} exactly {n} {what}`, `up to {n}` or `at least {n}`", ""),
    (r"^\s*(?P<who>\w+\s+chooses|choose)\s+$", r"(?:an?\s+|the\s+|one\s+)?(?P<x>[a-z]\w*)\s+(?:in|from|of)\s+(?P<set>.+)",
     "one of them, or how many?", "write `{who} any {x} in {set}`; for several `exactly 2`, `up to 2` or `any number of`", ""),
    (r"\b(?:any|any number of|(?:exactly|up to|at least)\s+\S+)\s+(?:ordered\s+)?\w+\s+$", r"(?:from|of|out of)\b",
     "what is chosen lies `in` something", "write `{mended}`", "in"),
)  # fmt: skip


_EFFECTS = ("raise", "lower", "set", "move", "shuffle", "end", "say")
_OPEN_A_BLOCK = ("if", "otherwise", "choose", "repeat", "step", "together", "secretly", "in", "may")
_AND = re.compile(r"\s*(?:;|,|&&?|\band\b|\bthen\b)\s*(?:(?:and|then)\s+)*(?=[a-z])")


def halves(line: str) -> Iterator[tuple[str, int, str]]:
    """`lower bricks by 2` and `lower beams by 1`, with the place of the second: a line cut at each word that joins."""
    for cut in islice(_AND.finditer(line), MOST_HALVES):
        yield line[: cut.start()], cut.end(), line[cut.end() :]


def _two_effects(stop: Stop) -> Slip | None:
    """`lower bricks by 2, lower beams by 1`, `lower bricks by 2, beams by 1`, `lower bricks by 2 lower beams by 1`"""
    shown = bare(stop.source.line_text(stop.line))
    begins = shown.split(maxsplit=1)[0] if shown[:1] == " " and shown.strip() else ""
    if not begins or begins in _OPEN_A_BLOCK or stop.sort in ("each", "table", "map", "kind", "pieces", "example"):
        return None
    for first, at, second in (*halves(shown), (stop.head, stop.column, stop.rest)):
        verb = second.split(maxsplit=1)[0] if second else ""
        is_verb = verb in _EFFECTS or re.search(rf"^\s*verb\s+{re.escape(verb)}\b", stop.source.text, re.MULTILINE)
        whole = second if verb and is_verb else f"{begins} {second}"
        known = whole is second or (begins in _EFFECTS and at != stop.column and verb not in LANGUAGE)
        if known and stop.reads(stop.line, first) and stop.reads(stop.line, whole):
            here = stop.span(len(second), stop.source.line_starts[stop.line - 1] + at)
            return Slip("two effects in one line", f"write the second on a line of its own: `{whole}`", here, "R235")
    return None


def _row_with_or(stop: Stop) -> Slip | None:
    """`timbuktu, wet or dry: 4`"""
    shown = bare(stop.source.line_text(stop.line))
    row = re.match(r"(?P<before>[^:]*?)\s*(?P<one>\w+)\s+or\s+(?P<two>\w+)(?P<after>[^:]*:.*)", shown)
    if stop.word != "or" or "COLON" not in stop.expected or row is None or not shown.startswith(" ") or " each " in shown:
        return None
    rows = [f"{row['before']} {key}{row['after']}".strip() for key in (row["one"], row["two"])]
    if stop.sort not in ("table", "map", "extend", "replace") or not all(stop.would_read(one) for one in rows):
        return None
    return Slip("a row of a table has no `or`", f"write one row for each: `{rows[0]}` and `{rows[1]}`", stop.span(len("or")))


def _comma_at_the_end(stop: Stop) -> Slip | None:
    line = _line_before(stop)
    shown = bare(stop.source.line_text(line))
    if not stop.at_line_end or not shown.endswith(",") or not stop.reads(line, shown.rstrip(",")):
        return None
    below = next((s for n in range(line + 1, len(stop.source.line_starts) + 1) if (s := bare(stop.source.line_text(n)))), "")
    goes_on = len(below) - len(below.lstrip()) > len(shown) - len(shown.lstrip())
    hint = "write it at the beginning of the line below: that goes on with this one" if goes_on else "leave out the comma at the end"
    return Slip("nothing stands behind this comma", hint, stop.span(1, stop.source.line_starts[line - 1] + len(shown) - 1))


def _percent(stop: Stop) -> Slip | None:
    """`50% of water`"""
    number, of = re.search(r"(\d+) ?$", stop.head), re.match(r"%\s*(?:of\s+)?(?P<x>(?:your |their )?[a-z]\w*(?:\([^()]*\))?)?", stop.rest)
    if number is None or of is None:
        return None
    n = int(number[1][:LONGEST_NUMBER])
    share = f"/ {100 // n}" if 1 < n <= 50 and 100 % n == 0 else f"* {n} / 100"
    value = f"{of['x'] or '...'} {share} rounded down"
    mended = f"{stop.head[: number.start()]}{value}{stop.rest[of.end() :]}".strip()
    whole = stop.span(len(number[0]) + len(of.group()), stop.at - len(number[0]))
    return Slip("there are no percentages", f"write `{mended}`" if of["x"] else f"write `{value}`", whole)


_ONE_OF = {"any": "some", "a": "some", "an": "some", "some": "some", "no": "no"}


def _kind_meant(stop: Stop, word: str) -> str:
    """`coins`, where `pieces Coin` are declared"""
    declared = re.findall(r"^\s*pieces\s+(\w+)", stop.source.text, re.MULTILINE)
    close = [kind for kind in declared if near(word.lower(), [kind.lower()])]
    return close[0] if close else declared[0] if len(declared) == 1 else word.removesuffix("s").capitalize() or "Card"


def _look(stop: Stop) -> Slip | None:
    if stop.at_line_end:
        return None
    twice = re.search(r"\b([a-z]\w*)\s+\1\b", f"{stop.head}{stop.word}")
    if twice is not None:
        at = stop.at - len(stop.head) + twice.end() - len(twice[1])
        return Slip(f"`{twice[1]}` stands twice", "leave one of them out", stop.span(len(twice[1]), at))
    for head, rest, message, hint, instead in _LOOKS:
        if head == _A_PLACE and stop.sort in ("table", "map", "kind", "pieces", "extend", "example", "each"):  # rows, not rules
            continue
        if stop.in_text and head.startswith("^"):  # how a line begins
            continue
        before, found = re.search(head, stop.head), re.match(rest, stop.rest)
        if before is not None and found is not None:
            shown = found.group().strip()
            groups = {**before.groupdict(""), **found.groupdict(""), "found": shown.split(" ")[0] if len(shown) > 4 else shown}
            groups |= {"whole": shown, "one": _ONE_OF.get(groups.get("w", ""), "every"), "kind": _kind_meant(stop, groups.get("x", ""))}
            kept = stop.head[: before.start("cut")] if "cut" in groups else stop.head
            mended = f"{kept}{instead.format(**groups)}{stop.rest[found.end() :]}"
            groups["mended"] = re.sub(r" {2,}", " ", mended).strip()
            here = stop.span(len(groups["found"]))
            if groups.get("cut", "").strip():
                first = stop.at - len(stop.head) + before.start("cut")
                here = stop.span(len(f"{stop.head[before.start('cut') :]}{found.group()}".strip()), first)
            whole = stop.mends(stop.line, groups["mended"]) if "{mended}" in hint else ""
            groups["mended"] = whole or groups["mended"]
            return Slip(message.format(**groups), hint.format(**groups), here, mended=whole)
    return None


def _said(stop: Stop) -> Slip | None:
    """The line as other people say it: `gain 2 coins`, `if nobody laid guard`"""
    shown = bare(stop.source.line_text(stop.line))
    line, first = shown.strip(), stop.source.line_starts[stop.line - 1] + len(shown) - len(shown.lstrip())
    for row in meant(line, stop.source.text, stop.source.text[stop.start : stop.end]):
        whole = stop.mends(stop.line, row.mended)
        if whole or "..." in row.mended:
            here = stop.span(row.at[1] - row.at[0], first + row.at[0])
            return Slip(row.message, row.told(whole or row.mended), here, phrase=row.phrase, meant=row.meant, mended=whole)
    return None


_SHORT: tuple[tuple[str, str, str, str], ...] = (  # lines that end too early
    (r'game\s+\w+\s+"[^"]*"', "R314", "for how many players?", "add `, players 2..4`"),
    (r"ranking\b(?!.*\bties\b).*\w", "R232", "and if two are level?", "add `, ties shared`, or `, ties by_seat`: the lower seat is before"),
    (r"in turn\b.*\bby (?:most|fewest)\b(?!.*\bties\b).*\w", "R232", "and if two are level?",
     "add `, ties by_seat`: the lower seat is before"),
    (r"option\s+(?P<name>\w+)\s*:(?!.*\busually\b).*\w", "R248", "`{name}` does not say what is usual", "add `, usually ...`"),
    (r"(?!.*\brounded\b).*\s/\s*[\w()]+", "R001", "rounded down or up?", "add `rounded down` or `rounded up`"),
    (r".*(?:=|\b(?:give|of|over))\s+(?P<x>[a-z]\w*)\s+in\s+(?P<place>[a-z]\w*)", "R001", "which of them?",
     "add `where ...`; pieces of one kind are named with its capital: `Card in {place}`"),
    (r"may", "R001", "may what?", "name it: `may buy any card in market`"),
    (r"end", "R001", "the end of what?",
     "name the loop, step or verb that ends: `end rounds`; a block needs no `end`, it stops where the lines stand further left"),
)  # fmt: skip


def _short(stop: Stop) -> Slip | None:
    if not stop.at_line_end:
        return None
    line = _line_before(stop)
    text = bare(stop.source.line_text(line)).strip()
    for look, code, message, hint in _SHORT:
        if found := re.fullmatch(look, text):
            return Slip(message.format(**found.groupdict()), hint.format(**found.groupdict()), _line_span(stop.source, line), code)
    return None


def _line_before(stop: Stop) -> int:
    """The line that ends here."""
    return stop.line if stop.found == "_NL" or stop.head.strip() else next(_lines_above(stop, stop.line), stop.line)


# ---------------------------------------------------------------- in general


def _clause(stop: Stop) -> Slip | None:
    """`number of City where harbour + 1`: what follows an open clause, and the right side of a comparison"""
    here = stop.span(len(stop.word))
    message = f"`{stop.word}` does not fit here"
    if re.search(r"\b(who|where|has)\b", stop.head) and re.match(r"[-+*/]|(?:to|into|among|from)\b|[<>]=?", stop.rest):
        return Slip(message, "a who/where/has clause reaches to the end of the line: put it in brackets, or use `let`", here)
    right = re.search(r"(?:[<>]=?|\bis(?: not)?\b)\s*([^<>=,]+?)\s*$", stop.head)
    if re.match(r"[-+*/]$", stop.word) and right:
        value, more = re.match(r"(.*?)((?:\s+(?:and|or)\b|,).*)?$", stop.rest).groups("")  # type: ignore[union-attr]
        brackets = f"{stop.head[: right.start(1)].strip()} ({right[1]} {value}){more}"
        return Slip(message, f"a sum or product on the right of a comparison stands in brackets: `{brackets}`", here)
    return None


_DECLARES = re.compile(rf"\s*(?:{_PLACES}|option|ranking|game|table|kind|ring|pieces|use|in turn)\b")


def _missing(stop: Stop) -> Slip | None:
    if not stop.missing or stop.at_line_end:
        return None
    if stop.missing == "," and not _DECLARES.match(stop.head) and stop.word not in ("only", "ties", "remainder", "shortage"):
        return None
    text = stop.head.rstrip()
    space = "" if stop.missing in ",:" else " "
    mended = f"{text.lstrip()}{space}{stop.missing} {stop.rest}"
    if not stop.would_read(mended):
        return None
    return Slip(f"a `{stop.missing}` is missing before `{stop.word}`", f"write `{mended}`", stop.span(len(stop.word)))


def _anything(stop: Stop) -> Slip:
    """Nothing is known of it but what could stand there."""
    if stop.at_line_end and stop.in_text:
        return Slip("the value ends too early", _follows(stop, stop.head), stop.span(1, stop.at - 1))
    if stop.at_line_end:
        line = _line_before(stop)
        text = re.sub(r"\s*\{[^}]*\}$", "", bare(stop.source.line_text(line)))
        end = stop.source.line_starts[line - 1] + len(text)
        return Slip("the line ends too early", _follows(stop, text), stop.span(1, max(0, end - 1)))
    return Slip(f"`{stop.word}` does not fit here", _follows(stop, stop.head), stop.span(len(stop.word)))


def _could_stand(stop: Stop, word: str, better: str) -> bool:
    """Would the line read, if that was meant?"""
    line = stop.source.line_text(stop.line)
    return any(stop.would_read(re.sub(rf"\b{word}\b", other, line)) for other in re.findall(r"`(\w+)`", better))


def _follows(stop: Stop, head: str) -> str:
    last = re.search(r"([^\W_]\w*|\S)\s*$", head[-80:])
    after = "here" if last is None else "after the text" if last[1] == '"' else f"after `{last[1]}`"
    if {"NAME", "NUMBER", "FOLD"} <= stop.expected:
        return f"{after} comes a value: a number, a name, `number of ...`"
    line = re.sub(r'"[^"]*"', "", stop.source.line_text(stop.line)[:LONG])
    for word in re.findall(r"[a-z]\w{3,}", line):
        is_typed_once = len(re.findall(rf"\b{word}\b", stop.source.text)) == 1
        if word not in LANGUAGE and is_typed_once and (better := near(word, LANGUAGE)) and _could_stand(stop, word, better):
            return f"`{word}`: {better}"
    wanted = sorted(
        {_WHAT.get(e, f"`{e.lower().replace('_', ' ')}`") for e in stop.expected if not e.startswith("__") and e not in ("MARK", "_DEDENT")}
    )
    if len(wanted) > 7:
        ends = "or `}`" if stop.in_text else "a comma, or the end of the line"
        return f"{after} comes a word such as `and`, `+` or `to`, {ends}"
    return f"{after} comes {', '.join(wanted[:-1])}{' or ' if wanted[:-1] else ''}{wanted[-1]}" if wanted else "leave it out"
