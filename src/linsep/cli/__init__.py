"""The command line. Commands call the public library only."""
