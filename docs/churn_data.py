"""Write the tables of docs/start/churn.md into a folder: customers.csv; new.csv without labels."""

import sys
from pathlib import Path

import numpy as np

SEED = 1867


def german(number: float) -> str:
    """Return 1.234,50 for 1234.5, in brackets if it is negative."""
    text = f"{abs(number):,.2f}".translate(str.maketrans(",.", ".,"))
    return f"({text})" if number < 0 else text


def lines(rng: np.random.Generator, first: int, rows: int) -> list[str]:
    """Return customers as lines; the last field says whether they left."""
    found = []
    for k in range(first, first + rows):
        contract, calls, years = rng.integers(1, 4), rng.poisson(3), rng.integers(0, 9)
        charges, balance = rng.lognormal(6.3, 0.7), rng.normal(20, 60)
        discount, city = rng.integers(0, 20), rng.choice(["Köln", "Münster", "Aachen"])
        risk = 0.8 * calls - 0.5 * years + 1.5 * (contract == 2) - 0.02 * balance + (city == "Köln")
        left = "yes" if risk + rng.logistic(0, 0.4) > 1.6 else "no"
        since = f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.{2023 - years}"
        asked = " " if rng.random() < 0.03 or k == 603 else calls
        found.append(
            f"C{k:05};{rng.choice(['Müller', 'Weiß', 'Jäger', 'Kühn'])};{since};{contract};{asked};"
            f"{german(charges)} €;{discount}%;{german(balance)};{city};{left}"
        )
    return found


HEAD = [
    "# customers of 2024, exported for the board",
    "# amounts in euros",
    "customer;name;since;contract;calls;charges;discount;balance;city;churn",
]


def write(folder: Path) -> None:
    """Write both files, in the encoding of the program that they come from."""
    rng = np.random.default_rng(SEED)
    known, new = lines(rng, 1, 600), lines(rng, 601, 8)
    (folder / "customers.csv").write_bytes("\n".join([*HEAD, *known, ""]).encode("cp1252"))
    cut = [line.rpartition(";")[0] for line in [HEAD[2], *new]]
    (folder / "new.csv").write_bytes("\n".join([*HEAD[:2], *cut, ""]).encode("cp1252"))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
