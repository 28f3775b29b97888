"""What it means: symbols and types in place, no sugar."""
