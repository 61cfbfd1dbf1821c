"""``python -m linsep`` is the command line."""

from linsep.cli import main

main()
