"""What happens."""
