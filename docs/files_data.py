"""Write visits.csv, the table of docs/how-to/files.md: made-up visits of patients to a clinic."""

import csv
import sys
from pathlib import Path

import numpy as np

rng = np.random.default_rng(7)
complaints = ["cough", "a sore throat since Monday", "pain in the left knee", "headache and fever"]
with (Path(sys.argv[1]) / "visits.csv").open("w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["visit", "patient", "day", "age", "height", "inches", "clinic", "note", "ill"])
    for k in range(600):
        patient, note = int(rng.integers(1, 150)), complaints[rng.integers(4)]
        age, height = 18 + patient % 60, 150 + patient % 47
        ill = age + 30 * ("fever" in note) + rng.normal(0, 15) > 60
        day = f"2025-{1 + k // 50:02}-{1 + k % 28:02}"
        row = [
            f"v{k:04}",
            patient,
            day,
            "" if k % 60 == 9 else age,
            height,
            round(height / 2.54, 1),
        ]
        out.writerow([*row, "north", f"{note}, day {rng.integers(1, 9)}", "yes" if ill else "no"])
