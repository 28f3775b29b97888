"""How fast it is, as ratios in one run."""
