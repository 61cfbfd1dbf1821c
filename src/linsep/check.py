"""Checks a proof of linsep's: ``python -m linsep.check PROOF DATA [--target COLUMN]``.

This file does it alone, in whole numbers and fractions, with Python's standard library; it shares
no code with linsep. PROOF is what ``linsep separate --proof`` wrote; DATA is svmlight text or, with
the column of labels as target, CSV. The exit code is 0 where the proof holds, else 1.

docs/separation.md says what is proved, linsep/certificate/canonical.py how rows are hashed. Row x
stands for constraints a = s (x) [x; 1], the Kronecker product with vectors s of signs: of two sides
for y [x; 1] alone; of several classes, each with weights but the last, for one constraint a rival.
Weights w are right about x if <w, a> > 0. Rows are {column: number}, zeros left out.
"""

import csv
import math
import re
from argparse import ArgumentParser
from fractions import Fraction
from hashlib import sha256
from json import dumps, loads
from struct import pack

WRONG = ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError
NUMBER = re.compile(r"\s*-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


def need(condition, reason):
    """Go on only where the condition holds."""
    if not condition:
        raise ValueError(reason)


def read_svmlight(lines, *_):
    """Rows, labels, names and number of columns of ``label index:value ...``."""
    lines = [line for line in (line.partition("#")[0].split() for line in lines) if line]
    pairs = [[x.split(":") for x in line[1:] if not x.startswith("qid:")] for line in lines]
    base = min(1, 1, *(int(j) for row in pairs for j, _ in row))
    rows = [{int(j) - base: float(x) for j, x in row} for row in pairs]
    width = max((j + 1 for row in rows for j in row), default=0)
    return rows, [float(line[0]) for line in lines], [f"x{base + j}" for j in range(width)], width


def read_csv(lines, target, exclude):
    """The same from a table: the nearest doubles, a column for every value of a column of text."""
    header, *records = [record for record in csv.reader(lines) if record]
    table = dict(zip(header, zip(*records, strict=True), strict=True))
    columns = {name: numbers(cells) for name, cells in table.items() if name not in exclude}
    labels = columns.pop(target) or table[target]
    found = {name: [*map(float, cells)] for name, cells in columns.items() if cells}
    for name in (name for name in columns if not columns[name]):
        for value in sorted(set(table[name])):
            found[f"{name}={value}"] = [cell == value for cell in table[name]]
    rows = [dict(enumerate(cells)) for cells in zip(*found.values(), strict=True)]
    return rows, labels, list(found), len(found)


def numbers(cells):
    """Numbers, or true and false; None where the cells are text."""
    if all(NUMBER.fullmatch(cell) for cell in cells):
        return [float(x) if re.search("[.eE]", x) else int(x) for x in cells]
    words = [cell.lower() for cell in cells]
    return [word == "true" for word in words] if {*words} <= {"true", "false"} else None


def hash_of(rows, labels, width):
    """The SHA-256 of rows and labels in canonical form."""
    (heads, runs, values), known = (sha256(), sha256(), sha256()), dict[tuple, int]()
    for row, label in zip(rows, labels, strict=True):
        starts, ends = ([j for j in row if j + k not in row] for k in (-1, 1))
        number = known.setdefault((type(label), label), len(known))
        heads.update(pack("<2I", number, len(starts)))
        for first, last in zip(starts, ends, strict=True):
            runs.update(pack("<2I", first, last - first + 1))
        for x in row.values():
            near = float(x) if abs(x) < 2**1024 - 2**970 else math.inf
            parts = abs(x.numerator), x.denominator if x.denominator > 1 else 0
            p, q = ([m >> k & 2**64 - 1 for k in range(0, m.bit_length(), 64)] for m in parts)
            words = [(x < 0) << 63 | 0x7FF8 << 48 | len(p) << 24 | len(q), *p, *q]
            values.update(pack("<d", near) if near == x else pack(f"<{len(words)}Q", *words))
    about = {"rows": len(rows), "features": width, "labels": [label for _, label in known]}
    sums = heads.digest() + runs.digest() + values.digest()
    return sha256(b"linsep rows 1\n" + sums + dumps(about).encode()).hexdigest()


def long(text):
    """A whole number from its hexadecimal digits, in their only form."""
    need(len(text) <= 2**18 and hex(int(text, 16)) == text, "a number is in another form")
    return int(text, 16)


def pairs_of(given):
    """Pairs of a row and a constraint of its own, in order, each once."""
    pairs = [(i, k) for i, k in given]
    need(dumps(pairs) == dumps(sorted({(int(i), int(k)) for i, k in pairs})), "rows not in order")
    return pairs


def keyed(plain, size, read):
    """{column: what is read}, the columns in order."""
    columns = [int(j) for j in plain]
    need([*plain] == [str(j) for j in sorted({*columns} & {*range(size)})], "columns not in order")
    return {j: read(x) for j, x in zip(columns, plain.values(), strict=True)}


def row_of(plain, size):
    """{column: whole number}, none zero, in lowest terms."""
    row = keyed(plain, size, long)
    need(all(row.values()) and math.gcd(*row.values()) <= 1, "numbers are not in lowest terms")
    return row


def space_of(plain, size):
    """A space of rows in reduced echelon form: first a 1 in a column that no other row has."""
    space = keyed(plain, size, lambda row: row_of(row, size))
    for p, row in space.items():
        need(min(row) == p and row[p] > 0 and row.keys() & space.keys() == {p}, "a space is none")
    return {p: {j: Fraction(m, row[p]) for j, m in row.items()} for p, row in space.items()}


def dot(a, w):
    """<a, w>."""
    return sum(x * w[j] for j, x in a.items() if j in w)


def total(terms):
    """The sum of rows times numbers."""
    found: dict = {}
    for number, row in terms:
        for j, x in row.items():
            found[j] = found.get(j, 0) + number * x
    return {j: x for j, x in found.items() if x}


def left_of(a, space):
    """What a row is beside a row of the space: nothing where it lies in it."""
    return total([(1, a), *((-a[p], space[p]) for p in a.keys() & space.keys())])


def need_spanning(rows, space):
    """Rows lie in a space and span it: by elimination."""
    found: dict = {}
    for a in rows:
        rest = left_of(a, found)
        while rest.keys() & found.keys():
            rest = left_of(rest, found)
        found |= {min(rest): {j: x / rest[min(rest)] for j, x in rest.items()}} if rest else {}
        need(not left_of(a, space), "rows are not in the space they span")
    need(len(found) == len(space), "rows do not span their space")


class Problem:
    """The constraints of all rows: {(row, which of its own): (constraint, side)}."""

    def __init__(self, rows, labels, classes, positive, negative, features, bias):
        self.features, self.bias, self.width = features, bias, features + bias
        self.blocks = 1 if positive else len(classes) - 1
        self.size, self.constraints = self.blocks * self.width, {}
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            z = row | ({features: Fraction(1)} if bias else {})
            side, own = (label in positive) - (label in negative), classes.index(label)
            signs = [{own: 1, k: -1} for k in range(len(classes)) if k != own]
            for k, sign in enumerate(([{0: side}] if side else []) if positive else signs):
                blocks = [(b * self.width, s) for b, s in sign.items() if b < self.blocks]
                a = {start + j: s * x for start, s in blocks for j, x in z.items()}
                self.constraints[i, k] = a, side

    def named(self, given):
        """The constraints of a combination, each with its positive multiplier, and its side."""
        good = [*given] == ["rows", "which", "multipliers"]
        need(good and {*map(type, given.values())} == {list}, "a combination is none")
        keys = pairs_of(zip(given["rows"], given["which"], strict=True))
        multipliers = [long(text) for text in given["multipliers"]]
        need(min(multipliers, default=1) > 0 and math.gcd(*multipliers) <= 1, "multipliers")
        return [(m, *self.constraints[key]) for m, key in zip(multipliers, keys, strict=True)]

    def sum_of(self, given):
        """The sum of a combination that is not empty."""
        return total((m, a) for m, a, _ in self.named(given) or need(False, "it is empty"))

    def separable(self, given):
        """The weights are right about every row, by the margin; none has more."""
        need([*given][3:] == ["coef", "intercept", "margin", "support"], "its fields are others")
        low, high = (math.inf if end is None else end for end in given["margin"])
        good = type(low) is type(high) is float and math.copysign(1, low) > 0 and low <= high
        good &= low < math.inf and (self.blocks == 1 or low == 0 < high == math.inf)
        need(good, "the margin is none")
        need(len(given["coef"]) == len(given["intercept"]) == self.blocks, "weights are missing")
        w: dict = {}
        for k, row in enumerate(given["coef"]):
            line = [*row, given["intercept"][k]]
            exact = [Fraction(long(x) if type(x) is str else float.__pos__(x)) for x in line]
            good = type(row) is list and len(row) == self.features and (self.bias or not exact[-1])
            need(good and "-0.0" not in map(str, line), "weights are missing, or too many")
            w |= {len(w) + j: x for j, x in enumerate(exact[: self.width])}
        square = sum(x * x for j, x in w.items() if j % self.width < self.features)
        for (i, _), (a, _) in self.constraints.items():
            need((v := dot(a, w)) > 0 and v**2 >= Fraction(low) ** 2 * square, f"row {i} is wrong")
        support = [(m, a, side * self.bias) for m, a, side in self.named(given["support"])]
        need(bool(support) is (high < math.inf), "support rows go with a margin")
        if support:
            of = {side: sum(m for m, _, s in support if s == side) for _, _, side in support}
            need(len(of) == 1 + self.bias, "the support rows are of one side")
            point = total((Fraction(m, of[side] * len(of)), a) for m, a, side in support)
            square = sum(x * x for j, x in point.items() if j < self.features)
            need(square <= Fraction(high) ** 2, "the support rows allow a wider margin")

    def overlapping(self, given, more=()):
        """Witness and spanning rows add up to zero, and the latter span the space of all rows."""
        need([*given][3:] == ["witness", "spanning", "space", *more], "its fields are others")
        space = space_of(given["space"], self.size)
        added = self.sum_of(given["witness"]) or self.sum_of(given["spanning"])
        need(not added, "a combination that should be zero is not")
        need_spanning([a for _, a, _ in self.named(given["spanning"])], space)
        inside = [key for key, (a, _) in self.constraints.items() if not left_of(a, space)]
        need((len(inside) < len(self.constraints)) is bool(more), "not all rows are in the space")
        return space, sorted({i for i, _ in inside})

    def quasi_separable(self, given):
        """The direction is positive on all rows outside the space; the others are the boundary."""
        more = ["direction", "boundary", "everything", "basis", "signs"]
        space, boundary = self.overlapping(given, more)
        need(dumps(given["boundary"]) == dumps(boundary), "the boundary rows are others")
        direction = row_of(given["direction"], self.size)
        need(not any(dot(row, direction) for row in space.values()), "the direction is no normal")
        everything = space_of(given["everything"], self.size)
        for (i, _), (a, _) in self.constraints.items():
            need(not left_of(a, everything), f"row {i} is not in the space of all")
            need(dot(a, direction) > 0 or not left_of(a, space), f"row {i} is on the wrong side")
        need_spanning([self.constraints[key][0] for key in pairs_of(given["basis"])], everything)
        kept = self.kept(everything)
        for j, added in keyed(given["signs"], self.size, self.sum_of).items():
            wanted, left = left_of(kept[j], space), left_of(added, space)
            times = {left.get(i, 0) / x for i, x in wanted.items()}
            need(len(times) == 1 and left.keys() == wanted.keys(), "rows are no coefficient")
            need(min(times) * dot(kept[j], direction) > 0, "a coefficient has the other sign")

    def kept(self, everything):
        """The coefficients, as rows, of columns independent of constants and columns before."""
        found = dict(everything)
        for one in range(self.features, self.size, self.width) if self.bias else ():
            holders = sorted(p for p, row in found.items() if one in row and p != one)
            if holders:
                out = found.pop(holders[-1])
                out = found[one] = {j: x / out[one] for j, x in out.items()}
                found |= {p: total([(1, found[p]), (-found[p][one], out)]) for p in holders[:-1]}
        return found


def check(text, rows, labels, names, width):
    """The claims of a proof, as lines; one of the errors WRONG where it does not hold."""
    rows = [{j: Fraction(x) for j, x in sorted(row.items()) if x} for row in rows]
    labels = [int(x) if isinstance(x, float) and x.is_integer() else x for x in labels]
    plain = loads(text)
    need(dumps(plain, indent=1, allow_nan=False) + "\n" == text, "it was edited")
    told, bias, recipe = plain["data"]["names"], plain["fit_intercept"] is True, plain["recipe"]
    senses, verdicts, classes = plain["senses"], plain["verdicts"], sorted(set(labels))
    need(told is None or names in (None, told), "the features have other names")
    need(told is None or (len(told) == width and "".join(told).encode() is not None), "its names")
    about = {"rows": len(rows), "features": width, "names": told and [*told], "classes": classes}
    about |= {"columns": None, "sha256": hash_of(rows, labels, width)}
    whole: dict = {"format": "linsep proof 2", "recipe": None if recipe is None else {**recipe}}
    whole |= {"data": about, "fit_intercept": bias, "senses": senses, "verdicts": verdicts}
    need(dumps(plain) == dumps(whole), "it is about other data, or its fields are others")
    pairs = [[[b], [a]] for k, a in enumerate(classes) for b in classes[k + 1 :]]
    known = {"ovr": [[[k], [c for c in classes if c != k]] for k in classes], "ovo": pairs}
    known = {"ovo": pairs} if len(classes) == 2 else known | {"multinomial": [[[], []]]}
    good = senses is None or (len(known) > 1 and senses == [s for s in known if s in senses] != [])
    need(good, "its senses are none")
    given = [[verdict["positive"], verdict["negative"]] for verdict in verdicts]
    good = [[sides] for part in known.values() for sides in part]
    good = good if senses is None else [[sides for sense in senses for sides in known[sense]]]
    need(dumps(given) in map(dumps, good), "its sides are others")
    for (positive, negative), verdict in zip(given, verdicts, strict=True):
        good = verdict["kind"] in ("separable", "overlapping", "quasi-separable")
        need(good and [*verdict][:3] == ["kind", "positive", "negative"], "it claims nothing")
        problem = Problem(rows, labels, classes, positive, negative, width, bias)
        getattr(problem, verdict["kind"].replace("-", "_"))(verdict)
    found = [f"{v['kind']}: {v['positive']} against {v['negative']}" for v in verdicts]
    return [*found, f"intercept: {bias}", f"features: {told or width}", f"rows: {len(rows)}"]


def main():
    """Run the command."""
    parser = ArgumentParser("python -m linsep.check", description="Check a proof of linsep's.")
    parser.add_argument("proof")
    parser.add_argument("data")
    parser.add_argument("--target", help="the column of labels: DATA is CSV")
    parser.add_argument("--exclude", action="append", default=[], help="a column to leave out")
    given = parser.parse_args()
    try:
        with open(given.data, encoding="utf-8-sig", newline="") as lines:
            data = (read_csv if given.target else read_svmlight)(lines, given.target, given.exclude)
        with open(given.proof, encoding="ascii", newline="") as proof:
            print("It holds.", *check(proof.read(), *data), sep="\n")
    except WRONG as problem:
        raise SystemExit(f"It does not hold ({type(problem).__name__}): {problem}") from None


if __name__ == "__main__":
    main()
