"""What was written."""
