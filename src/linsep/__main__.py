"""``python -m linsep`` is the command line."""

from linsep.cli.main import main

main()
