"""Small data sets of the literature, whose results others have published."""

import numpy as np
import pandas as pd


def _repeated(cells):
    """Columns of rows that are written as digits and how often they occur; the first is y."""
    pairs = [pair.split(":") for pair in cells.split()]
    times = [int(count) for _, count in pairs]
    rows = np.repeat([[float(digit) for digit in row] for row, _ in pairs], times, axis=0)
    return rows[:, 1:], rows[:, 0].astype(int)


#: Urinary tract infections of 239 women by age and contraceptives (oc, vic, vicl, vis, dia); case
#: is y. B. Foxman et al., Epidemiology 8 (1997); ``sex2`` of R's package logistf.
INFECTIONS = _repeated("""
    1000010:1 1001000:14 1001010:3 1001100:10 1001110:12 1001111:1 1010000:44 1010001:3 1011000:15
    1011001:1 1011010:2 1011100:7 1011110:3 1101000:2 1101010:1 1101011:1 1101100:1 1101111:1
    1110000:5 1111000:3 0000010:1 0001000:2 0001010:1 0001100:8 0001110:18 0010000:42 0010010:1
    0011000:1 0011100:5 0011110:6 0101100:2 0101110:4 0110000:14 0110010:1 0111000:1 0111110:2
""")

#: 79 cases of endometrial cancer: neovasculization, pulsatility index, endometrium height; high
#: grade is y. G. Heinze and M. Schemper, Statistics in Medicine 21 (2002).
_HEIGHTS = """
    0 13 1.64 16 2.26 8 3.14 34 2.68 20 1.28 5 2.31 17 1.8 10 1.68 26 1.56 17 2.31 8 2.01 7 1.89
      20 3.15 10 1.23 18 1.27 16 1.76 18 2 28 1.5 11 1.33 19 2.37 10 1.82 10 3.13 18 1.31 14 1.92
      21 1.64 11 2.01 17 1.88 25 1.93 16 2.11 19 1.29 15 1.72 33 0.75 24 1.92 29 2.02 15 2.29
      12 2.33 3 2.9 20 1.7 23 1.41 12 2.25 22 1.54 42 1.97 15 1.75 13 2.16 14 2.57 19 1.37 12 3.61
      13 2.04 10 2.17
    1 8 2.64 29 0.88 12 1.27 20 1.37 7 0.97 48 1.84 12 1.11 19 1.61 2 1.18 21 1.19 15 1.06 12 1.69
      6 1.84 5 1.3 17 0.96 5 0.35 33 0.85
    2 38 0.97 22 1.14 7 0.88 25 0.91 15 0.58 22 1.44 40 1.18 5 0.93 0 1.17 49 0.27 11 1.01 21 0.98
      19 1.02
"""


def _endometrial():
    rows, grades = [], []
    group = ""
    for line in _HEIGHTS.strip().splitlines():
        values = line.split()
        if len(values) % 2:
            group, *values = values
        pairs = zip(values[::2], values[1::2], strict=True)
        rows += [[float(group == "2"), float(pi), float(eh)] for pi, eh in pairs]
        grades += [int(group != "0")] * (len(values) // 2)
    return np.array(rows), np.array(grades)


ENDOMETRIAL = _endometrial()

#: O. Duncan, A socioeconomic index for all occupations, 1961: type, income, education, prestige
_JOBS = """
prof 62 86 82 prof 72 76 83 prof 75 92 90 prof 55 90 76 prof 64 86 90 prof 21 84 87 prof 64 93 93
    prof 80 100 90 wc 67 87 52 prof 72 86 88 prof 42 74 57 prof 76 98 89 prof 76 97 97 prof 41 84 59
    prof 48 91 73 wc 76 34 38 prof 53 45 76 prof 60 56 81 prof 42 44 45 prof 78 82 92 wc 29 72 39
    wc 48 55 34 wc 55 71 41 wc 29 50 16 bc 21 23 33 bc 47 39 53 bc 81 28 67 bc 36 32 57
    bc 22 22 26 bc 44 25 29 bc 15 29 10 bc 7 7 15 bc 42 26 19 bc 9 19 10 bc 21 15 13
    bc 21 20 24 bc 16 26 20 bc 16 28 7 bc 9 17 3 bc 14 22 16 bc 12 30 6 bc 17 25 11
    bc 7 20 8 bc 34 47 41 bc 8 32 10
"""
_CELLS = np.array(_JOBS.split()).reshape(-1, 4)
DUNCAN = pd.DataFrame(_CELLS[:, 1:].astype(int), columns=["income", "education", "prestige"])
DUNCAN.insert(0, "type", _CELLS[:, 0])
