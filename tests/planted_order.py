"""Faults of order and idle lines, planted one by one into copies of the bundled games: the game, the text and what it
becomes, and the code that must be among the findings of `rulelang check`.

An `order` fault lets several change at once what only one can; the others never happen, are never read, or make no
difference.  The row `planted` of `tests/harden` runs them beside the leaks."""

from attrs import frozen


@frozen
class Fault:
    game: str
    old: str
    new: str
    code: str


FAULTS = [
    # several at once, and the order matters
    Fault("visby", "            raise wares by smith_wares_per_knight", "            raise battle by smith_wares_per_knight", "R330"),
    Fault("visby", "            raise seals by toll_seals_per_fleet * number", "            set market to number", "R330"),
    Fault("visby", "                move display to hand\n                move discard to hand", "                move display to discard of (first opponent)\n                move discard of (first opponent) to hand", "R330"),
    Fault("tallinn", "            set triggered to none\n", "            set triggered of (first opponent) to none\n", "R330"),
    Fault("tallinn", "            move hand_towers to row_towers\n", "            move 1 Start from start_box to start_card\n", "R330"),
    Fault("tallinn", "                move card to row(half)\n                step trigger", "                move card to row(half) of (first opponent)\n                move top of start_box under start_box\n                step trigger", "R330"),
    Fault("hansa", "                                                    move lost to box\n", "                                                    move lost to box\n                                                    set last_round to yes\n", "R330"),
    Fault("hansa", "                                                    move lost to box\n", "                                                    move lost under bag\n", "R330"),
    Fault("carthago", "            together each player\n                move left_side to hand\n", "            together each player\n                set used_stone to none\n                move left_side to hand\n", "R330"),
    Fault("carthago", "                move discs_in of k Disc from free to residence(k)\n", "                move discs_in of k Disc from free of (first opponent) to residence(k)\n", "R330"),
    # never happens, never offered
    Fault("visby", "        if sellers is not empty\n", "        if sellers is not empty and market > 15\n", "R341"),
    Fault("visby", "            if laid mendicant\n                move display", "            if wares > 15\n                move display", "R342"),
    Fault("visby", "        together each player who laid mendicant\n            raise wares by alms(number of display + number of discard)", "        together each player who laid mendicant\n            if wares < 0\n                raise wares by alms(number of display + number of discard)", "R342"),
    Fault("visby", "option target: 30 or 45, usually 30, only if target is 30 or number of players <= 3", "option target: 30 or 45, usually 30, only if target is 30 or number of players > 6", "R342"),
    Fault("hansa", ", only if talers >= sail_price {H-R23}", ", only if talers < 0 {H-R23}", "R342"),
    Fault("hansa", "            move booths_at_first Booth from stock to booths(c)\n", "            if number of players > 4\n                move booths_at_first Booth from stock to booths(c)\n", "R342"),
    Fault("hansa", "        give 0 if harbour_master is you\n", "        give 0 if harbour_master is you\n        give 1 if harbour_master is you\n", "R342"),
    Fault("carthago", "                            otherwise if f is trade_harbour\n", "                            otherwise if f is market\n", "R342"),
    Fault("carthago", "        give no if decade of t > decades\n", "        give no if decade of t > 3\n", "R342"),
    Fault("carthago", "onto any d in 1..dock_count where berth(d) is empty\n", "onto any d in 1..dock_count where berth(d) is empty and number of players > 4\n", "R342"),
    Fault("tallinn", "        together each player who has triggered is not none\n            let f = triggered\n", "        together each player who has triggered is not none\n            if number of players is 1\n                raise points by contest_win\n            let f = triggered\n", "R342"),
    # changed and never read, or never used
    Fault("visby", "    counter seals: 0.., public, starts at 0 {V-R25}\n", "    counter seals: 0.., public, starts at 0 {V-R25}\n    counter fame: 0.., public\n", "R110"),
    Fault("visby", "            raise seals by toll_seals_per_ship", "            counter toll: 0..\n            raise toll by toll_seals_per_ship", "R343"),
    Fault("carthago", "                let tile = random t in Tile where decade of t is d and not shown(t)\n", "                let tile = random t in Tile where decade of t is d and not shown(t)\n                let other = number of Tile\n", "R110"),
    Fault("carthago", "        let used = first ship in open_ships where effect of ship is e\n", "        status turned_now: Effect or none\n        set turned_now to e\n        let used = first ship in open_ships where effect of ship is e\n", "R343"),
    Fault("hansa", "                                let sold_colours = k", "                                let sale = number of markers\n                                let sold_colours = k", "R110"),
    # a choice that makes no difference
    Fault("hansa", "                            finish \"no further action\"\n                                end acting\n", "                            rest\n                                end acting\n                            finish \"no further action\"\n                                end acting\n", "R344"),
    Fault("hansa", "            move booths_at_first Booth from stock to booths(c)\n", "            move booths_at_first Booth from stock to booths(riga)\n", "R344"),
    Fault("carthago", "                    pass \"Passen\" {C-R14, C-R50}\n                        draw_trade 1\n", "                    pass \"Passen\" {C-R14, C-R50}\n                        draw_trade 1\n                    rest\n                        draw_trade 1\n", "R344"),
    Fault("tallinn", "            no_tower\n", "            no_tower\n            later\n", "R344"),
    Fault("carthago", "                keep_discs \"keep all discs\"\n", "                keep_discs \"keep all discs\"\n                wait any n in 1..3\n                    draw_trade 1\n", "R344"),
    # rows that nobody asks for
    Fault("hansa", "    repeat colours_out(number of players) times {H-R1}\n", "    repeat colours_out(2) times {H-R1}\n", "R345"),
    Fault("carthago", "define dock_count = docks(number of players)\n", "define dock_count = docks(3)\n", "R345"),
]  # fmt: skip
