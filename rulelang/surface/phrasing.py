"""Lines as people say them, and as the language has them: `raise honey by 1 for each bloom in garden` is
`raise honey by number of Bloom in garden`.

A row is a look, what is wrong, and the line as it was meant; only a line that reads is ever shown."""

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from attrs import field, frozen

from rulelang.diagnostics import near

OTHER_WORDS = {  # what people say for the verbs that no definition explains
    "raise COUNTER by NUMBER": ("add", "increase", "increment", "gain", "earn", "get", "receive", "collect"),
    "lower COUNTER by NUMBER": ("subtract", "decrease", "decrement", "reduce", "spend", "lose", "pay"),
    "move PIECES from PLACE to PLACE": ("put", "place", "lay", "take", "discard", "pass", "return", "remove"),
    "set STATUS to VALUE": ("change", "assign", "make"),
    "shuffle PILE": ("mix",),
    "let n = random 1..6": ("roll", "throw"),
}


NUMBERS = dict(zip("zero one two three four five six seven eight nine ten eleven twelve".split(), range(13), strict=True))  # noqa: SIM905


def counter_verb(word: str) -> str:
    """`raise` for `gain`, `lower` for `pay`"""
    return next((form.split()[0] for form, words in OTHER_WORDS.items() if word in words and "COUNTER" in form), "")


@frozen
class Otherwise:
    """How a line was meant.  Several lines are joined by line ends; what belongs to the first is indented by four spaces."""

    message: str
    mended: str
    at: tuple[int, int]  # the words of the line that are wrong
    hint: str = "write {lines}"
    phrase: str = ""
    meant: str = ""

    def told(self, mended: str) -> str:
        first, *more = mended.split("\n")
        below = " and ".join(f"`{line.strip()}`" for line in more)
        where = ", and below it, indented by four spaces, " if more and more[0].startswith(" ") else " and, on a line of its own, "
        return self.hint.format(lines=f"`{first}`{where if more else ''}{below}", mended=mended)


@frozen
class Around:
    """What the file declares, as far as its text tells without being read"""

    text: str
    declaration: str

    def counters(self, of_players: bool = False) -> list[str]:
        return re.findall(rf"^{' +' if of_players else ' *'}counter\s+(\w+)", self.text, re.MULTILINE)

    def loop(self, word: str) -> str:
        labels = re.findall(r"^ *repeat\s+([a-z]\w*)", self.text, re.MULTILINE)
        return next((x for x in (word, f"{word}s", word.removesuffix("s")) if x in labels), "")

    def value(self, word: str) -> str:
        """`pots` for `pot`, if something that is a number is called so"""
        known = [*self.counters(), *re.findall(r"^ *define\s+(\w+)\s*(?:=|$)", self.text, re.MULTILINE)]
        return next((x for x in (word, f"{word}s", word.removesuffix("s")) if x in known), "")

    def pieces(self, word: str) -> str:
        kinds = re.findall(r"^\s*pieces\s+(\w+)", self.text, re.MULTILINE)
        return next((k for k in kinds if word.lower() in (k.lower(), f"{k.lower()}s") or near(word.lower(), [k.lower()])), "")

    def lies_in(self, place: str) -> str:
        """The pieces of a place, if they are of one kind."""
        found = re.search(rf"^\s*(?:zone|pile|slot)\s+{re.escape(place)}\b[^:\n]*:\s*(\w+)(?!\s+or\b)", self.text, re.MULTILINE)
        return found[1] if found else ""

    @property
    def players(self) -> int:
        found = re.search(r"^\s+players\s+([^#\n]*)", self.declaration, re.MULTILINE)
        return len(found[1].split(",")) if found else 0


def _alike(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _differs(line: str, mended: str, at: tuple[int, int]) -> tuple[int, int]:
    """Of the words that were found those that read otherwise in the line as it was meant."""
    if "\n" in mended:
        return at
    first, last = _alike(line, mended), len(line) - _alike(line[::-1], mended[::-1])
    while first > at[0] and re.match(r"\w\w", line[first - 1 : first + 1]):
        first -= 1
    while last < at[1] and re.match(r"\w\w", line[last - 1 : last + 1]):
        last += 1
    words = line[max(first, at[0]) : min(last, at[1])]
    start = max(first, at[0]) + len(words) - len(words.lstrip())
    return (start, start + len(words.strip())) if words.strip() else at


Words = dict[str, str]
Made = Callable[[Words, Around], str]
_N = r"\w+(?:\([^()]*\))?(?: of \w+)?|\([^()]*\)"
_LOST = (
    r"(?:the\s+)?(?:rest|remainder|surplus|more|excess|overflow|all above|what is too much)\s+(?:(?:is|are|gets?)\s+)?"
    r"(?:lost|discarded|gone|thrown away|ignored)$"
)
_DICE = r"(?:an?\s+|one\s+|1\s+)?(?:die|dice|d6)"


@frozen
class Row:
    look: str
    message: str
    made: str | Made  # in the place of what was found, or nothing if it does not apply
    hint: str = "write {lines}"
    is_name: bool = False  # a name that is told once
    pattern: re.Pattern[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.look))

    def meant(self, line: str, around: Around) -> Otherwise | None:
        found = self.pattern.search(line)
        if found is None:
            return None
        words = {name: said.strip() if said else "" for name, said in found.groupdict().items()}
        made = self.made.format(**words) if isinstance(self.made, str) else self.made(words, around)
        mended = f"{line[: found.start()]}{made}{line[found.end() :]}"
        if not made or mended == line:
            return None
        name = "name" if "name" in words else "v" if "v" in words else ""
        told = words.get(name, "") if self.is_name else ""
        hint = self.hint.format_map({**words, "lines": "{lines}", "mended": "{mended}"})
        return Otherwise(
            self.message.format(**words), mended, _differs(line, mended, found.span()), hint, told, _one(told) if " " in told else ""
        )


def _one(words: str) -> str:
    return "_".join(words.split())


def _counted(w: Words, around: Around) -> str:
    """`raise coins by 4 for each pot`"""
    value = _number_of(w["x"], around)
    factor = w["n"] if re.fullmatch(_N, w["n"]) else f"({w['n']})"
    return f"{w['v']} {w['p']} by {value if factor == '1' else f'{factor} * {value}'}" if value else ""


def _number_of(what: str, around: Around) -> str:
    """How many there are: a counter is a number itself, pieces and players are counted."""
    said = re.match(r"(?:of\s+)?(?P<whose>your |their )?(?P<x>other players?|[A-Za-z]\w*)(?P<more>.*)$", what)
    if said is None:
        return ""
    x, more = said["x"], said["more"].strip()
    if re.fullmatch(r"(?:player|opponent|other player)s?", x):
        group = "players" if x.startswith("player") else "opponents"
        more = re.sub(r"^who has\b", "who have", more)
        return f"number of {group} {more}".strip() if not more or more.startswith("who") else ""
    if (value := around.value(x)) and (not more or re.fullmatch(r"of \w+", more)):
        return f"{said['whose'] or ''}{value} {more}".strip()
    place = re.fullmatch(r"(?:in|on|of|from)\s+(.+)", more)
    if place is None:
        return ""
    kind = around.pieces(x) if not re.search(r"\b(?:where|who)\b", more) else ""
    return f"number of {kind or x} in {place[1]}"


def _beyond(w: Words, around: Around) -> str:
    return f"{w['before']}, excess beyond {w['high']} is lost"


def _changed(w: Words, around: Around) -> str:
    """`gain 2 coins`"""
    is_verb = re.search(rf"^\s*verb\s+{w['v']}\b", around.text, re.MULTILINE)
    verb, name = counter_verb(w["v"]), around.value(w["x"])
    kind = around.pieces(w["x"])
    if is_verb or not any(w["v"] in words for words in OTHER_WORDS.values()):
        return ""
    if verb and name in around.counters():
        return {"all": f"set {name} to 0", "half": f"{verb} {name} by {name} / 2 rounded down"}.get(w["n"], f"{verb} {name} by {w['n']}")
    return f"move {w['n']} {kind} from ... to ..." if kind else ""


def _paid(w: Words, around: Around) -> str:
    """`pay 2 coins to bank`, `gain 2 coins from treasury`"""
    verb, counters = counter_verb(w["v"]), around.counters()
    if not verb or w["x"] not in counters or w["a"] not in (*counters, "bank", "supply", "stock", "box"):
        return ""
    other = f"\n{'lower' if verb == 'raise' else 'raise'} {w['a']} by {w['n']}" if w["a"] in counters else ""
    return f"{verb} {w['x']} by {w['n']}{other}"


def _drawn(w: Words, around: Around) -> str:
    """`raise coins by random 1..6`"""
    name = next((x for x in ("drawn", "rolled") if x not in around.text), "")
    return f"let {name} = random {w['a']}..{w['b']}\n{w['e']} {name}" if name else ""


def _ranked(w: Words, around: Around) -> str:
    """`ranking by highest fares, then least travellers`"""
    best = re.sub(r"(^|\bthen\s+)(?:the\s+)?(?:highest|greatest|largest|biggest|more|max)\b", r"\1most", w["m"])
    best = re.sub(r"(^|\bthen\s+)(?:the\s+)?(?:least|lowest|smallest|less|fewer|min)\b", r"\1fewest", best)
    best = re.sub(r"(^|\bthen\s+)(?!most\b|fewest\b|then\b)", r"\1most ", best)
    return f"ranking by {best}{w['t'] or ', ties shared'}" if best != w["m"] else ""


def _from_counter_to_counter(w: Words, around: Around) -> str:
    counters = around.counters()
    if w["a"] not in counters or w["b"] not in counters:
        return ""
    return f"lower {w['a']} {w['ao']}".strip() + f" by {w['n']}\n" + f"raise {w['b']} {w['bo']}".strip() + f" by {w['n']}"


_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "is": "is", "is not": "is not"}


def _of_each(w: Words, around: Around) -> str:
    """`bid > bid of every opponent`"""
    own = f"your {w['p']}" if w["p"] in around.counters(True) else w["p"]
    who = {"any": "some", "some": "some", "no": "no"}.get(w["w"], "every")
    return f"{who} opponent has their {w['q']} {_TURNED[w['op']]} {own}"


def _cases(w: Words, around: Around) -> str:
    """`define x = 2 if drought, otherwise 1`"""
    other = w["other"] or ("original" if w["replace"] else "...")
    return f"{w['replace']}{' ' if w['replace'] else ''}define {w['sig']}\n    give {w['one']} if {w['c']}\n    give {other} otherwise"


def _range(w: Words, around: Around) -> str:
    name = "" if w["w"] in ("", "number", "value", "integer", "die", "dice") else f"{w['w']} in "
    return f"random {name}{w['a']}..{w['b']}"


def _expected(w: Words, around: Around) -> str:
    """`expect every player: 2 ink`"""
    if re.fullmatch(r"(?:every|each|all) players?", w["who"]):
        return f"{w['e']} {w['x']}: {', '.join([w['n']] * around.players)}"
    return f"{w['e']} {w['x']} of {w['who']}: {w['n']}"


def _top(w: Words, around: Around) -> str:
    kind = around.lies_in(w["a"])
    return f"move {w['n']} {kind} from {w['a']} {w['r']}" if kind else ""


def _now_and_then(w: Words, around: Around) -> str:
    loop = around.loop(w["x"])
    return f"{loop} mod {w['n']} is 0" if loop else ""


def _until(w: Words, around: Around) -> str:
    return f"repeat {w['l']} {w['t']}".strip()


_WHO = r"nobody|no one|everybody|everyone|somebody|someone|(?:every|all|some|no)\s+(?:player|opponent)s?"
_EACH = {"every": "every", "all": "every", "some": "some", "no": "no"}


def _nobody(w: Words, around: Around) -> str:
    """`if nobody laid guard`"""
    one = next(quantity for begins, quantity in _EACH.items() if w["who"].startswith(begins))
    clause = "has" if one == "every" or not w["x"] else "who"
    whole = f"{one} {'opponent' if 'opponent' in w['who'] else 'player'} {clause} {w['v']} {w['x']}".strip()
    return f"({whole}) {w['more']}" if w["more"] else whole


_VERBS = "raise|lower|set|move|shuffle|end"
_IS_NO_VERB = (
    "if|otherwise|let|repeat|step|together|secretly|in|choose|may|give|needs|say|end|define|replace|expect|given|run|chance|option"
)
ROWS = (
    Row(r"^(?P<v>raise|lower)\s+(?P<p>.+?)\s+by\s+(?P<n>.+?)\s+(?:for\s+(?:each|every|all)|per)\s+(?P<x>.+)$",
        "`{v}` has no `for each`", _counted),
    Row(rf"^(?P<before>counter\b.*?\.\.\s*(?P<high>\w+)\b.*?),\s*{_LOST}", "what is lost lies beyond a number", _beyond),
    Row(rf"^(?P<before>counter\b[^:]*:\s*\w+\.\.\s*,.*?),\s*{_LOST}", "there is nothing beyond a range without an end", "{before}"),
    Row(r"^(?P<v>[a-z]+)\s+(?P<n>\S.*?)\s+(?P<x>[a-z]\w*)$", "`{v}` changes no counter", _changed, is_name=True),
    Row(r"^(?P<v>[a-z]+)\s+(?P<x>[a-z]\w*)\s+(?:by\s+)?(?P<n>[\w(].*)$", "`{v}` changes no counter",
        lambda w, around: _changed(w, around) if around.value(w["x"]) in around.counters() else "", is_name=True),
    Row(r"^(?P<v>[a-z]+)\s+(?P<n>\S+)\s+(?P<x>[a-z]\w*)\s+(?:from|to|into|out of)\s+(?:the\s+)?(?P<a>[a-z]\w*)$",
        "`{v}` changes no counter",
        _paid),
    Row(rf"\bany\s+(?P<w>\w+)\s+(?:from|in|between|of)\s+(?P<a>\d+)\s*(?:up\s+to|to|and|-|–)\s*(?P<b>{_N})",
        "numbers are chosen out of a range", "any {w} in {a}..{b}"),
    Row(rf"^(?P<e>(?:raise|lower|set|move)\b.*?)\brandom\s*(?:(?:number|from|between|in)\s+)*\(?(?P<a>\d+)\s*"
        rf"(?:up\s+to|to|and|-|–|,|\.\.)\s*(?P<b>{_N})\)?", "what chance picks has a name", _drawn),
    Row(rf"\brandom\s*(?:(?P<w>[a-z]\w*?)\s+)??(?:(?:from|between|in|of)\s+)?\(?(?P<a>\d+)\s*(?:up\s+to|to|and|-|–|,|\.\.)\s*(?P<b>{_N})\)?",
        "chance picks out of a range", _range),
    Row(rf"(?<==)\s*(?:roll\s+|throw\s+)?{_DICE}$", "chance picks out of a range", " random 1..6"),
    Row(rf"^(?:roll|throw)\s+{_DICE}$", "chance picks out of a range", "let n = random 1..6"),
    Row(r"^move\s+(?P<n>.+?)(?:\s+(?P<x>[A-Za-z]\w*))?\s+from\s+(?P<a>\w+)(?P<ao>\s+of\s+\w+)?\s+to\s+(?P<b>\w+)(?P<bo>\s+of\s+\w+)?$",
        "a counter is raised and lowered; pieces are moved", _from_counter_to_counter),
    Row(r"(?:(?<=\bif )|(?<=\band )|(?<=\bor )|(?<=\bnot )|(?<=\bneeds ))"
        r"(?:your\s+)?(?P<p>[a-z]\w*|\d+)\s*(?P<op><=|>=|<|>|is not|is)\s*"
        r"(?:the\s+)?(?P<q>[a-z]\w*)\s+of\s+(?P<w>every|all|each|any|some|no)"
        r"\s+(?:other\s+)?(?:opponent|player)s?\b", "`{w}` comes first", _of_each),
    Row(r"^(?P<replace>replace\s+)?define\s+(?P<sig>[^=]+?)\s*=\s*(?P<one>[^,]+?)\s+(?:if|when)\s+(?P<c>[^,]+?)"
        r"(?:,?\s*(?:otherwise|else)\s+(?P<other>.+))?$", "each case stands in a line of its own", _cases),
    Row(r"^(?P<replace>replace\s+)?define\s+(?P<sig>[^=]+?)\s*=\s*if\s+(?P<c>[^,]+?),?\s+then\s+(?P<one>[^,]+?)"
        r"(?:,?\s*(?:otherwise|else)\s+(?P<other>.+))?$", "each case stands in a line of its own", _cases),
    Row(r"^expect\s+(?P<who>\w+)\s+has\s+(?P<n>\w+)\s+(?P<x>[a-z]\w*)\s*(?:,|and|,\s*and)\s+(?P<other>\w+)\s+(?:has\s+)?(?P<m>\w+)"
        r"(?:\s+(?P<y>[a-z]\w*))?$", "the place comes first, then what is in it",
        lambda w, around: f"expect {w['x']} of {w['who']}: {w['n']}\nexpect {w['y'] or w['x']} of {w['other']}: {w['m']}"),
    Row(r"^(?P<l>[a-z]\w*)\s+(?:happens|runs|is run|is played|begins)$", "an example runs a step by its name", "run {l}"),
    Row(rf"(?P<x>\b(?:{_N}))\s*(?P<a>[<>]=?)\s*(?P<n>\w+)\s+(?P<j>and|or)\s+(?P<b>[<>]=?)\s*(?=\w)",
        "each comparison names what it compares", "{x} {a} {n} {j} {x} {b} "),
    Row(r"^(?P<d>(?:counter|status|zone|pile|slot)\b.*?),\s*(?P<w>secret|covered|face down|concealed)\b",
        "`{w}` is no word of the language", "{d}, private", "what only its owner sees is `private`, what nobody sees `hidden`: {lines}"),
    Row(r"\bsum\s*(?P<open>\()?\s*(?:of\s+)?(?P<f>\w+)\s+(?:of|in|over)\s+(?P<x>\w+)(?(open)\s*\))",
        "`sum` is no word of the language", "total of {f} over {x}"),
    Row(r"^(?P<e>expect|given)\s+(?P<who>(?:every|each|all)\s+players?|\w+)\s*(?:\bhas\b|\bhave\b|:)\s*(?P<n>\w+)\s+(?P<x>[a-z]\w*)$",
        "the place comes first, then what is in it", _expected),
    Row(r"^(?P<e>expect|given)\s+(?P<x>[a-z]\w*(?:\s+of\s+\w+)?)\s*(?:=|is\b)\s*(?P<n>\w+)$",
        "after the place comes a `:`", "{e} {x}: {n}"),
    Row(r"^(?P<v>[a-z]\w*\s.*?)\s+(?P<p>among|into|onto|to|from|with|at|for)\s+(?P<c>[^,]*?\b(?:who|where)\s[^,]*?)\s+"
        r"(?P<q>into|onto|to|from|among|with|at|for)\s+(?P<x>[^,]+?)(?P<l>,.*)?$",
        "`{q}` comes after a clause that reaches to the end of the line",
        lambda w, around: f"{w['v']} {w['q']} {w['x']} {w['p']} {w['c']}{w['l']}", "write `{q} {x}` before `{p} ...`: {lines}"),
    Row(rf"\b(?P<who>{_WHO})\s+(?!who\b|has\b|have\b|is\b|in\b)(?P<v>[a-z]\w*)\s+(?P<x>[a-z]\w*)(?P<more>\s+(?:and|or)\b)?",
        "`{who}` is said with `who` or `has`", _nobody),
    Row(r"\b(?P<who>nobody|no one|everybody|everyone|somebody|someone)\s+has\s+(?P<v>[^,]+)", "`{who}` is no word of the language",
        lambda w, around: _nobody({**w, "x": "", "more": ""}, around)),
    Row(r"^repeat\s+(?P<l>[a-z]\w*)\s*(?P<t>\"[^\"]*\")?\s*,?\s*until\s+(?P<c>.+)$", "`until` is no word of the language", _until,
        "write {lines}, and below it, where the question is asked, `end {l} if {c}`"),
    Row(r"^repeat\s+(?P<l>[a-z]\w*)\s*(?P<t>\"[^\"]*\")?\s*,?\s*while\s+(?P<c>.+)$", "`while` is no word of the language", _until,
        "write {lines}, and below it, where the question is asked, `end {l} if not ({c})`"),
    Row(r"^move\s+(?:all|every)\s+(?:of\s+)?(?:the\s+)?(?P<x>\w+)\s+(?:from|in|of)\s+(?P<a>.+?)(?=\s+(?:to|under)\b)",
        "`all` is not needed",
        lambda w, around: f"move {kind} in {w['a']}" if (kind := around.pieces(w["x"])) else ""),
    Row(r"^ranking\s+(?:by\s+)?(?P<m>.+?)(?P<t>,\s*ties\b.*)?$", "a ranking goes by `most` or `fewest`", _ranked),
    Row(r"^(?P<i>(?:otherwise\s+)?if\s+.+?)\s*(?:,\s*then\b|,|:|\bthen\b)\s*(?P<e>(?:raise|lower|set|move|shuffle|end|give|say)\b.+)$",
        "what happens stands in a line of its own", "{i}\n    {e}"),
    Row(r"^move\s+(?:the\s+)?top\s+(?P<n>\d+|[a-z]\w*)\s+(?:\w+\s+)?(?:of|from|in)\s+(?P<a>\w+)(?P<r>\s+.*)$",
        "so many of what?", _top),
    Row(r"\b(?P<x>player|opponent)\s+(?:with|having|that\s+has)\s+(?=\w)", "`with` says nothing of {x}s", "{x} who has "),
    Row(r"\b(?P<x>players|opponents)\s+(?:with|having|that\s+have)\s+(?=\w)", "`with` says nothing of {x}", "{x} who have "),
    Row(r"\b(?P<o>starting with|after)\s+(?:the\s+)?(?P<w>first|last)\s+(?P<x>[a-z]\w*)\b", "after `{o}` stands one name, or brackets",
        "{o} ({w} {x})"),
    Row(r"\b(?P<o>starting with|after)\s+the\s+(?=[a-z])", "`the` is no word of the language", "{o} "),
    Row(r"^(?P<h>before|after)\s+(?:the\s+)?(?P<s>step|repeat|verb)\s+(?=[a-z])", "`{s}` is not needed", "{h} "),
    Row(rf"^(?P<e>(?!(?:{_IS_NO_VERB})\b)[a-z]\w*\b.*?)\s+(?P<n>\d+|[a-z]\w*|\([^()]*\))\s+times$", "how often stands above it",

        lambda w, around: f"repeat {NUMBERS.get(w['n'], w['n'])} times\n    {w['e']}"),
    Row(r"^(?P<d>(?:counter|status)\b.*),\s*starts\s+with\s+(?!all\b)(?P<n>\d+|[a-z]\w*)\b", "a number is what a counter starts `at`",
        "{d}, starts at {n}"),
    Row(r"\b(?:every|each)\s+(?P<n>\d+)(?:st|nd|rd|th)?\s+(?P<x>[a-z]\w*)\b", "how often it comes is worked out", _now_and_then),
    Row(rf"^(?P<name>(?!(?:{_IS_NO_VERB}|{_VERBS})\b)[a-z]\w*(?:\s+[a-z]\w*){{1,2}})(?P<r>\s*\".*|\s*,\s*only if\b.*)$",
        "a name is one word", lambda w, around: _one(w["name"]) + (" " * (w["r"][0] == '"')) + w["r"], is_name=True),
    Row(rf"^(?P<name>(?!(?:{_IS_NO_VERB}|{_VERBS})\b)[a-z]\w*(?:\s+(?:to|from|into|at|on|with|for|in|of))?\s+[a-z]\w*)$",
        "a name is one word",
        lambda w, around: _one(w["name"]), is_name=True),
    Row(rf"^(?P<o>(?!(?:{_IS_NO_VERB}|{_VERBS})\b)[a-z]\w*\b)(?P<r>\s*(?:\"[^\"]*\")?[^\"]*?),?\s*(?:only\s+)?(?P<w>if|when)\s+(?P<c>.+)$",
        "`{w}` does not fit here", lambda w, around: f"{w['o']}{' ' if w['r'] else ''}{w['r']}, only if {w['c']}",
        "the condition of an option is written {lines}"),
    Row(rf"^(?P<e>(?!(?:{_IS_NO_VERB})\b)[a-z]\w*\b[^\"]*?),?\s+(?:if|when)\s+(?P<c>.+)$", "the condition comes first",
        "if {c}\n    {e}"),
    Row(r"^(?P<k>[\w., ]+?)\s*(?:=>|=|->)\s*(?P<v>[\w\[].*)$", "a row of a table is written with `:`", "{k}: {v}"),
)  # fmt: skip


def meant(line: str, text: str, declaration: str) -> Iterator[Otherwise]:
    """What a line may have meant, the likeliest first."""
    around = Around(text, declaration)
    return (said for row in ROWS if (said := row.meant(line, around)) is not None)


def of_a_phrase(line: str, text: str, reads: Callable[[str], bool]) -> tuple[str, str] | None:
    """Message and hint for a line of a step that reads, and says nothing that the language has: `gain coins by 2`"""
    for said in meant(line, text, ""):
        if not said.meant and reads(said.mended.replace("\n", "\n    ")):
            return said.message, said.told(said.mended)
    return None
