"""Write the tables of docs/how-to/rare-classes.md: payments.csv; new.csv without labels."""

import sys
from pathlib import Path

import numpy as np

SEED = 1867
HEAD = "payment,amount,hour,account_days,items,new_device,country,fraud"


def lines(rng: np.random.Generator, first: int, rows: int) -> list[str]:
    """Return payments as lines; the last field says whether they were fraud, three in a hundred."""
    found = []
    for k in range(first, first + rows):
        amount, hour, items = rng.lognormal(3.6, 0.9), rng.integers(0, 24), rng.poisson(2) + 1
        days, device = int(rng.exponential(400)), rng.random() < 0.15
        country = rng.choice(["AT", "CH", "DE", "FR"], p=[0.2, 0.1, 0.6, 0.1])
        risk = 0.03 * amount - 0.01 * days + 3 * device + 0.05 * hour + 2 * (country == "FR")
        fraud = "yes" if risk - 0.3 * items + rng.logistic(0, 1.2) > 6.3 else "no"
        found.append(f"P{k:05},{amount:.2f},{hour},{days},{items},{int(device)},{country},{fraud}")
    return found


def write(folder: Path) -> None:
    """Write both files."""
    rng = np.random.default_rng(SEED)
    known = lines(rng, 1, 8000)
    new = [line for line in lines(rng, 8001, 100) if float(line.split(",")[1]) > 100][:8]
    (folder / "payments.csv").write_text("\n".join([HEAD, *known, ""]), encoding="utf-8")
    cut = [line.rpartition(",")[0] for line in [HEAD, *new]]
    (folder / "new.csv").write_text("\n".join([*cut, ""]), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
