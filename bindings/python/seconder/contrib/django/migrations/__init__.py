"""How the table of received callbacks came to be."""
