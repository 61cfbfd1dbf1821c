"""``python -m benchmarks [NAME ...]``: run races, print their table, write JSON beside it."""

import sys

from benchmarks import files, harness, in_memory


def main() -> None:
    """Run the named races, all of them without names."""
    races = in_memory.races() | files.races()
    names = sys.argv[1:] or list(races)
    if unknown := [name for name in names if name not in races]:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {' '.join(races)}")
    rows = []
    for name in names:
        print(f"running {name} ...", file=sys.stderr)
        rows.append({"name": name} | harness.run(races[name]()))
    harness.print_table(rows)
    print(f"written to {harness.write_json(rows)}")


if __name__ == "__main__":
    main()
