"""Who is meant."""
