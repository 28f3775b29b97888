"""What holds in every match of one player count, found out from the rules alone: no match is played."""
