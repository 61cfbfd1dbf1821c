"""The command line: fit, predict, score, inspect. Commands call the public library only."""

import os
import sys


def main() -> None:
    """Run the command line; exit code 0 done, 1 the work failed, 2 wrong use, 130 interrupted."""
    from linsep.cli.app import app
    from linsep.errors import LinsepError

    try:
        app()
    except (LinsepError, ValueError) as problem:
        print(f"linsep: {problem}", file=sys.stderr)
        sys.exit(1)
    except MemoryError:
        print("linsep: out of memory; use smaller batches or fewer columns.", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output went away; keep Python from complaining once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("linsep: interrupted.", file=sys.stderr)
        sys.exit(130)
