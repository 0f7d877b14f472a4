"""The migrations of the table of received callbacks."""
