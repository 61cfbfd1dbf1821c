"""``python -m benchmarks [NAME ...]``: run races, print their table, write JSON beside it."""

import sys

from benchmarks import accuracy, files, harness, in_memory


def main() -> None:
    """Run the named races, all of them without names."""
    races = in_memory.races() | files.races()
    names = sys.argv[1:] or [*races, "accuracy"]
    with_accuracy = "accuracy" in names
    names = [name for name in names if name != "accuracy"]
    if unknown := [name for name in names if name not in races]:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {' '.join(races)} accuracy")
    rows = []
    for name in names:
        print(f"running {name} ...", file=sys.stderr)
        rows.append({"name": name} | harness.run(races[name]()))
    if rows:
        harness.print_table(rows)
        print(f"written to {harness.write_json(rows)}")
    if with_accuracy:
        accuracy.main()


if __name__ == "__main__":
    main()
