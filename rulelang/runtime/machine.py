"""One match in motion: a row of integers, and while several choose at once one private row for each of them.

A thread of `together` sees the state at the entry and its own effects.  The main row stays as it was at the entry
until all threads are done; then what they did is added up.  So nothing that a seat sees or is offered can depend on
a choice that is not yet revealed."""

from collections.abc import Sequence
from random import Random

from attrs import define, field

from rulelang.graph.layout import CHANCE, PC, error_at
from rulelang.runtime.choices import AskCode
from rulelang.runtime.events import AnyEvent, Chosen
from rulelang.runtime.program import ForkCode, Program
from rulelang.runtime.values import State

COPIED = 256  # slots that are copied as fast as one step is made


@define(eq=False)
class Thread:
    """One participant: its private row, and the choices it made"""

    who: int
    s: State
    done: bool
    answers: tuple[int, ...] = ()
    events: list[AnyEvent] = field(factory=list)
    pending: "Pending | None" = None

    def copy(self) -> "Thread":
        made = Thread(self.who, self.s[:], self.done, self.answers, list(self.events))
        p = self.pending
        if p is not None:
            made.pending = Pending(p.player, p.ask, made.s, made, p.counts, p.count)
        return made


@define(eq=False)
class Fork:
    code: ForkCode
    threads: list[Thread]


@define(eq=False)
class Pending:
    """A decision that is awaited: who, the options, and the row to read them in"""

    player: int
    ask: AskCode
    s: State
    thread: Thread | None
    counts: tuple[int, ...]
    count: int


@define(eq=False)
class Machine:
    program: Program
    s: State
    ask_forced: bool = False
    silence: bool = False  # in examples a choice with one answer is never asked
    fork: Fork | None = None
    over: bool = False
    events: list[AnyEvent] = field(factory=list)
    pending: list[Pending] = field(factory=list)

    # ------------------------------------------------------------ moving on

    def begin(self) -> None:
        self.program.values.budget.renew()
        self._advance_main(self.program.graph.entry)

    def _advance_main(self, pc: int) -> None:
        program, s = self.program, self.s
        while True:
            at = program.run(s, pc)
            s[PC] = at
            ask = program.asks.get(at)
            if ask is not None:
                counts = ask.counts(s)
                count = sum(counts)
                if count > 1 or (count and (self.ask_forced or not (ask.silent or self.silence))):
                    self.pending = [Pending(ask.player(s), ask, s, None, counts, count)]
                    return
                pc = self._take(ask, s, 0, counts, self.events)
                continue
            code = program.forks.get(at)
            if code is None:
                self.over = True
                self.pending = []
                return
            self._start_fork(code)
            if self.pending:
                return
            pc = self._join()

    def _take(self, ask: AskCode, s: State, k: int, counts: tuple[int, ...], events: list[AnyEvent]) -> int:
        if not any(counts):
            raise error_at(f"nothing can be chosen at `{ask.decide.name}`", ask.decide.origin)
        self.program.values.budget.spend(1, ask.decide.origin)
        index = ask.pick(s, k, counts)
        choice = ask.choices[index]
        if self.program.values.emit is not None:
            picks = tuple(s[p.slot] for p in choice.picks)
            who, told = ask.player(s), choice.told(s)
            events.append(Chosen(ask.decide.origin, who, ask.decide.name, choice.choice.name, picks, choice.choice, told))
        return ask.bodies[index]

    def _start_fork(self, code: ForkCode) -> None:
        threads = []
        s = self.s
        who = self._who(code, s)
        for x in who:
            row = s[:]
            row[code.var] = x
            row[CHANCE] = own_chance(s, x)
            threads.append(Thread(x, row, False))
        self.fork = Fork(code, threads)
        for thread in threads:
            self._advance_thread(thread, code.fork.body)
        self._list_pending()

    def _who(self, code: ForkCode, s: State) -> Sequence[int]:
        """Who takes part; each has a row of its own, so that many of them with many places are too much."""
        who: Sequence[int] = code.who(s)
        limits = self.program.layout.game.limits
        if len(who) > limits.threads or len(who) * len(s) > 10 * limits.cells:
            raise error_at(f"{len(who)} at once are too many", code.fork.origin)
        self.program.values.budget.spend(1 + len(who) * len(s) // COPIED, code.fork.origin)
        return who

    def _advance_thread(self, thread: Thread, pc: int) -> None:
        outer, self.events = self.events, thread.events
        try:
            self._walk_thread(thread, pc)
        finally:
            self.events = outer

    def _walk_thread(self, thread: Thread, pc: int) -> None:
        program, s = self.program, thread.s
        thread.pending = None
        while True:
            at, ask = pc, program.asks.get(pc)
            if ask is None:
                at = program.run(s, pc)
                ask = program.asks.get(at)
            s[PC] = at
            if ask is not None:
                counts = ask.counts(s)
                count = sum(counts)
                if count > 1 or (count and (self.ask_forced or not (ask.silent or self.silence))):
                    thread.pending = Pending(ask.player(s), ask, s, thread, counts, count)
                    return
                pc = self._take(ask, s, 0, counts, thread.events)
                continue
            inner = program.forks.get(at)
            if inner is None:
                thread.done = True
                return
            pc = self._run_inner(inner, s)

    def _run_inner(self, code: ForkCode, s: State) -> int:
        """Threads inside a thread ask nobody: they run at once, each on its own row."""
        rows = []
        for x in self._who(code, s):
            row = s[:]
            row[code.var] = x
            row[CHANCE] = own_chance(s, x)
            pc = code.fork.body
            while (at := self.program.run(row, pc)) not in self.program.ends:
                pc = self._run_inner(self.program.forks[at], row)
            rows.append(row)
        s[CHANCE] += any(row[CHANCE] != own_chance(s, row[code.var]) for row in rows)
        _merge(code, s, rows)
        return code.fork.next

    def _list_pending(self) -> None:
        assert self.fork is not None
        self.pending = [t.pending for t in self.fork.threads if t.pending is not None]

    def _join(self) -> int:
        assert self.fork is not None
        fork, s = self.fork, self.s
        s[CHANCE] += any(t.s[CHANCE] != own_chance(s, t.who) for t in fork.threads)
        _merge(fork.code, s, [t.s for t in fork.threads])
        for t in fork.threads:
            self.events.extend(t.events)
        self.fork = None
        self.pending = []
        return fork.code.fork.next

    # ------------------------------------------------------------ choosing

    def choose(self, pending: Pending, k: int) -> None:
        self.program.values.budget.renew()
        thread = pending.thread
        if thread is None:
            self._advance_main(self._take(pending.ask, self.s, k, pending.counts, self.events))
            return
        pc = self._take(pending.ask, thread.s, k, pending.counts, thread.events)
        thread.answers = (*thread.answers, k)
        self._advance_thread(thread, pc)
        self._list_pending()
        if not self.pending:
            self._advance_main(self._join())

    def play_out(self, rng: Random, choices: list[tuple[int, int]], limit: int) -> None:
        """Uniformly random options to the end."""
        pick, budget = rng.random, self.program.values.budget
        while not self.over:
            if len(choices) > limit:
                raise error_at(f"the match did not end within {limit} choices", None)
            if self.fork is None:
                pending = self.pending[0]
                k = int(pick() * pending.count)
                choices.append((pending.player, k))
                budget.renew()
                self._advance_main(self._take(pending.ask, self.s, k, pending.counts, self.events))
                continue
            for thread in self.fork.threads:
                while (waiting := thread.pending) is not None and len(choices) <= limit:
                    k = int(pick() * waiting.count)
                    choices.append((waiting.player, k))
                    budget.renew()
                    pc = self._take(waiting.ask, thread.s, k, waiting.counts, thread.events)
                    thread.answers = (*thread.answers, k)
                    self._advance_thread(thread, pc)
            self._list_pending()
            if not self.pending:
                self._advance_main(self._join())

    # ------------------------------------------------------------ state

    def copy(self) -> "Machine":
        made = Machine(self.program, self.s[:], self.ask_forced, self.silence, None, self.over)
        if self.fork is not None:
            made.fork = Fork(self.fork.code, [t.copy() for t in self.fork.threads])
            made._list_pending()
        else:
            made.pending = [Pending(p.player, p.ask, made.s, None, p.counts, p.count) for p in self.pending]
        return made

    def key(self) -> tuple[int, ...]:
        """The whole state as one tuple of integers, threads as the choices made in them."""
        found = self.program.key(self.s)
        if self.fork is not None:
            for t in self.fork.threads:
                found += (len(t.answers), *t.answers)
        return found


def own_chance(s: State, who: int) -> int:
    """Where a thread's chance begins: a place in the sequence that no other thread or fork ever comes to."""
    return (s[CHANCE] << 12 | (who + 1)) << 20


def _merge(code: ForkCode, s: State, rows: list[State]) -> None:
    for at in code.added:
        old = s[at]
        total = old
        for row in rows:
            total += row[at] - old
        s[at] = total
    for at, low, high, name in code.limits:
        if not low <= s[at] <= high:
            raise error_at(
                f"`{name}` would be {s[at]}, {'below' if s[at] < low else 'beyond'} {low if s[at] < low else high}", code.fork.origin
            )
    for at in code.set:
        changed = [row[at] for row in rows if row[at] != s[at]]
        if len(changed) > 1:
            raise error_at("two threads changed the same place", code.fork.origin)
        if changed:
            s[at] = changed[0]
