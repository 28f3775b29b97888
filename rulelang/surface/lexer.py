"""Text to tokens, as the parser can use them: a word is a function word where the grammar asks for one, else a name.

Lark's contextual lexer does the same with one large regular expression for every state of the parser, and compiling
those costs more than reading a game.  Here one small pattern finds a word, and a table says what it can be."""

import re
from collections.abc import Iterator
from typing import Any

from lark import Token
from lark.common import LexerConf
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lexer import Lexer, LexerState

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SPACE = re.compile(r"[ \t]+")
_FIRST_WORDS = re.compile(r"(?:^|\(|\|)([a-z]+)")
_NAMES = ("NAME", "TYPE")
_PREPOSITIONS = frozenset("among into onto to from with against under on at for by".split())  # noqa: SIM905
_AFTER_A_TYPE = ("public", "private", "hidden", "number", "starts", "excess")


class WordLexer(Lexer):
    """Finds the one terminal of highest priority that the parser's state accepts."""

    __future_interface__ = 2

    def __init__(self, conf: LexerConf) -> None:
        self.names = conf.terminals_by_name
        self.patterns = {t.name: re.compile(t.pattern.to_regexp()) for t in conf.terminals}
        order = sorted(conf.terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
        self.words: dict[str, list[str]] = {}
        self.others: list[str] = []
        for t in order:
            firsts = set(_FIRST_WORDS.findall(t.pattern.value)) if t.name not in (*_NAMES, "JOIN") else set()
            if firsts and t.pattern.value[0] not in '"\\#[':
                for word in firsts:
                    self.words.setdefault(word, []).append(t.name)
            elif t.name not in (*_NAMES, "JOIN", "COMMENT", "_NL") and not t.name.startswith("__IGNORE"):
                self.others.append(t.name)
        self.every = frozenset(t.name for t in conf.terminals)

    def lex(self, state: LexerState, parser_state: Any) -> Iterator[Token]:
        text, end = state.text.text, state.text.end
        line = state.line_ctr
        states = parser_state.parse_conf.parse_table.states
        while True:
            at = self._skip(text, line.char_pos, end)
            line.char_pos = at
            if at >= end:
                return
            accepts = states[parser_state.state_stack[-1]]
            found = self._token(text, at, end, accepts)
            if found is None:
                self._unexpected(text, at, end, accepts, parser_state)
            else:
                line.char_pos = found.end_pos or end
                state.last_token = found
                yield found

    def _skip(self, text: str, at: int, end: int) -> int:
        """Blanks, comments at the end of a line, and line ends that a joining word follows."""
        while at < end:
            char = text[at]
            if char in " \t":
                space = _SPACE.match(text, at, end)
                at = space.end() if space else at + 1
            elif char == "#":
                comment = self.patterns["COMMENT"].match(text, at, end)
                at = comment.end() if comment else at + 1
            elif char == "\n" and (join := self.patterns["JOIN"].match(text, at, end)) is not None:
                at = join.end()
            else:
                return at
        return at

    def _token(self, text: str, at: int, end: int, accepts: Any) -> Token | None:
        if text[at] == "\n":
            return self._match("_NL", text, at, end)
        found = _WORD.match(text, at, end)
        if found is None:
            for name in self.others:
                if name in accepts and (made := self._match(name, text, at, end)) is not None:
                    return made
            return None
        word = found.group()
        for name in self.words.get(word, ()):
            if name in accepts and (made := self._match(name, text, at, end)) is not None:
                return made
        if word in _PREPOSITIONS:
            return None  # never a name, or a line with one preposition too many would be read as something else
        if word in _AFTER_A_TYPE and text[max(0, at - 8) : at].rstrip().endswith(".."):
            return None  # `0.. public`: no end of the range, but a comma too few
        sort = _NAMES[word[0].isupper()]
        if sort in accepts and self.patterns[sort].fullmatch(word):
            return Token(sort, word, at, end_pos=found.end())
        return None

    def _match(self, name: str, text: str, at: int, end: int) -> Token | None:
        found = self.patterns[name].match(text, at, end)
        if found is None or (
            found.group()[-1:].isalnum() and _WORD.match(text[found.end() : found.end() + 1]) and found.group()[0].isalpha()
        ):
            return None
        return Token(name, found.group(), at, end_pos=found.end())

    def _unexpected(self, text: str, at: int, end: int, accepts: Any, parser_state: Any) -> None:
        terminals = {a for a in accepts if a in self.every}
        anywhere = self._token(text, at, end, self.every)
        if anywhere is None:
            raise UnexpectedCharacters(text, at, 0, 0, allowed=terminals, state=parser_state)  # type: ignore[no-untyped-call]
        raise UnexpectedToken(anywhere, terminals, state=parser_state)  # type: ignore[no-untyped-call]

    def sorts(self, text: str, at: int) -> set[str]:
        """All that the word at this place could be, in one state or another."""
        return {name for name in self.every if self._token(text, at, len(text), (name,)) is not None}
