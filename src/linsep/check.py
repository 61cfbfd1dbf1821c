"""Check a proof written by linsep: ``python -m linsep.check PROOF DATA [--target COLUMN]``.

It needs no other file. DATA (a Gram matrix, if the proof is about one) is svmlight text or, with
--target, CSV. docs/reference/proofs.md describes the proofs, and canonical.py the hash. Row x has
constraints a = s (x) [x; 1], Kronecker products with sign vectors: y [x; 1] for two sides, else one
for each rival class. Weights w are right about x if <w, a> > 0. Rows are {column: nonzero number}.
"""

import csv
import math
import os
import re
from _thread import interrupt_main
from argparse import ArgumentParser
from fractions import Fraction
from hashlib import sha256
from json import dumps, loads
from struct import pack
from threading import Thread, Timer

WRONG = ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError
NUMBER = re.compile(r"[ \t]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[ \t]*")
#: of a field in which ranks are computed: not 2**61 - 1, which divides minors of rows near 2**60
PRIME = 1618033988749894853
ERRORS = ["strict", "unit", "weights", "least", "most", "hyperplane", "rows", "copies"]
ERRORS += ["contradictions", "tree"]
TRUE, FALSE = ["1", "true", "True", "TRUE"], ["0", "false", "False", "FALSE"]


def need(condition, reason):
    """Raise ValueError with this reason unless the condition holds."""
    if not condition:
        raise ValueError(reason)


def read(path, target, exclude):
    """Read rows, labels, names and number of columns of a file."""
    with open(path, encoding="utf-8-sig", newline="") as lines:
        if target:
            return read_csv(lines, target, exclude)
        parts = [line for line in (line.partition("#")[0].split() for line in lines) if line]
    pairs = [[x.split(":") for x in line[1:] if not x.startswith("qid:")] for line in parts]
    base = min(1, 1, *(int(j) for row in pairs for j, _ in row))
    rows = [{int(j) - base: numbers([x])[0] for j, x in row} for row in pairs]
    width = max((j + 1 for row in rows for j in row), default=0)
    return rows, [float(line[0]) for line in parts], [f"x{base + j}" for j in range(width)], width


def read_csv(lines, target, exclude):
    """Read them from CSV, with text columns as indicators."""
    header, *records = [record for record in csv.reader(lines) if record]
    table = dict(zip(header, zip(*records, strict=True), strict=True))
    columns = {name: numbers(cells) for name, cells in table.items() if name not in exclude}
    labels = columns.pop(target) or table[target]
    texts = [name for name in columns if not columns[name]]
    like = {name for name in columns if name.startswith((*(f"{text}=" for text in texts),))}
    like |= {name for name in columns if like and name.startswith('"')}  # which need quotes
    shown = {n: '"' + n.replace('"', '""') + '"' if n in like else n for n in columns}
    found = [(shown[name], cells) for name, cells in columns.items() if cells]
    for name in texts:
        values = sorted(set(table[name]))
        found += [(f"{shown[name]}={v}", [cell == v for cell in table[name]]) for v in values]
    names, cells = zip(*found, strict=True)
    return [dict(enumerate(row)) for row in zip(*cells, strict=True)], labels, [*names], len(names)


def numbers(cells):
    """Return the nearest doubles, whole ones as int, or booleans; None if there is text."""
    if all(NUMBER.fullmatch(cell) for cell in cells):
        return [float(x) if re.search("[.eE]", x) else int(float(x)) for x in cells]
    return [cell in TRUE for cell in cells] if {*cells} <= {*TRUE, *FALSE} else None


def hash_of(rows, labels, width):
    """Return the SHA-256 of rows and labels in canonical form."""
    (heads, runs, values), known = (sha256(), sha256(), sha256()), dict[tuple, int]()
    for row, label in zip(rows, labels, strict=True):
        starts, ends = ([j for j in row if j + k not in row] for k in (-1, 1))
        number = known.setdefault((type(label), label), len(known))
        heads.update(pack("<2I", number, len(starts)))
        runs.update(b"".join(pack("<2I", j, k - j + 1) for j, k in zip(starts, ends, strict=True)))
        for x in row.values():
            above, below = x.as_integer_ratio()
            near = above / below if abs(x) < 2**1024 - 2**970 else 0.0
            if near.as_integer_ratio() == (above, below):
                values.update(pack("<d", near))
                continue
            parts = abs(above), below if below > 1 else 0
            p, q = ([m >> k & 2**64 - 1 for k in range(0, m.bit_length(), 64)] for m in parts)
            words = [(x < 0) << 63 | 0x7FF8 << 48 | len(p) << 24 | len(q), *p, *q]
            values.update(pack(f"<{len(words)}Q", *words))
    about = {"rows": len(rows), "features": width, "labels": [label for _, label in known]}
    sums = heads.digest() + runs.digest() + values.digest()
    return sha256(b"linsep rows 1\n" + sums + dumps(about).encode()).hexdigest()


def long(text):
    """Read an integer from canonical hexadecimal digits."""
    need(len(text) <= 2**18 and hex(int(text, 16)) == text, "a number is not in canonical form")
    return int(text, 16)


def pairs_of(given):
    """Return pairs (row, constraint of the row), which must be sorted and distinct."""
    pairs = [(i, k) for i, k in list.__iter__(given)]
    need(dumps(pairs) == dumps(sorted({(int(i), int(k)) for i, k in pairs})), "rows not in order")
    return pairs


def keyed(plain, size, read=long):
    """Return {column: value}; columns must be sorted, integers nonzero and in lowest terms."""
    columns = [int(j) for j in plain]
    need([*plain] == [str(j) for j in sorted({*columns} & {*range(size)})], "columns not in order")
    row = {j: read(x) for j, x in zip(columns, plain.values(), strict=True)}
    good = read is not long or (all(row.values()) and math.gcd(*row.values()) <= 1)
    need(good, "numbers are not in lowest terms")
    return row


def space_of(plain, size):
    """Return a row space in reduced echelon form, each row divided by its pivot."""
    space = keyed(plain, size, lambda row: keyed(row, size))
    for p, row in space.items():
        need(min(row) == p and row[p] > 0 and row.keys() & space.keys() == {p}, "bad echelon form")
    return {p: {j: Fraction(m, row[p]) for j, m in row.items()} for p, row in space.items()}


def dot(a, w):
    """Return <a, w>."""
    return sum(x * w[j] for j, x in a.items() if j in w)


def total(terms):
    """Return the sum of the rows times their numbers."""
    found: dict = {}
    for number, row in terms:
        for j, x in row.items():
            found[j] = found.get(j, 0) + number * x
    return {j: x for j, x in found.items() if x}


def left_of(a, space):
    """Return the remainder of a row modulo a space: empty if the row lies in it."""
    a = {j: x for j, x in a.items() if len(space.get(j, ())) != 1}  # others are rows of the space
    while a.keys() & space.keys():
        a = total([(1, a), *((-a[p], space[p]) for p in a.keys() & space.keys())])
    return a


def spanned(rows):
    """Return the span of rows, by elimination."""
    found: dict = {}
    for a in rows:
        rest = left_of(a, found)
        found |= {min(rest): {j: x / rest[min(rest)] for j, x in rest.items()}} if rest else {}
    return found


def modular_rank(rows):
    """Return the rank of rows modulo a prime, which is at most their rank."""
    found: dict = {}
    for a in rows:
        rest = {j: x.numerator * pow(x.denominator, -1, PRIME) % PRIME for j, x in a.items()}
        while rest := {j: x for j, x in rest.items() if x}:
            p = min(rest)
            if p not in found:
                found[p] = {j: x * pow(rest[p], -1, PRIME) % PRIME for j, x in rest.items()}
                break
            for j, x in found[p].items() if (m := rest[p]) else ():
                rest[j] = (rest.get(j, 0) - m * x) % PRIME
    return len(found)


def need_span(rows, space):
    """Refuse rows that do not span a space."""
    rows = [*rows]
    need(not any(left_of(a, space) for a in rows), "rows lie outside their space")
    inside = ({p: a[p] for p in a.keys() & space.keys()} for a in rows)
    need(modular_rank(inside) == len(space), "rows do not span the space")


def part_of(K, width, columns, whole):
    """Return some columns of a Gram matrix; with ``whole`` they must span all of its columns."""
    good = dumps(columns) == dumps(sorted({*map(int, columns)} & {*range(width)}))
    need(good and len(K) == width, "DATA must be the square Gram matrix")
    apart = [abs(x - K[j].get(i, 0)) for i, row in enumerate(K) for j, x in row.items()]
    most = max((abs(x) for row in K for x in row.values()), default=0)  # sums may be rounded
    need(max(apart, default=0) * 2**26 <= most, "DATA is not symmetric, so not a Gram matrix")
    lines = [{i: row[j] for i, row in enumerate(K) if j in row} for j in range(width)]
    if whole and len(columns) < width:
        space = spanned(lines[j] for j in columns)
        need(not any(left_of(a, space) for a in lines), "columns do not span the Gram matrix")
    return [{k: row[j] for k, j in enumerate(columns) if j in row} for row in K]


def fraction(given):
    """Return a positive fraction, which must be in lowest terms."""
    above, below = map(long, list.__iter__(given))
    need(above > 0 < below and math.gcd(above, below) == 1, "a fraction is not in lowest terms")
    return Fraction(above, below)


def leaves(tree, sets, room, paid, wrong, depth=0):
    """Yield the least weight of the errors in each leaf; rows that are right leave ``room``."""
    need(depth <= 200, "a tree is too deep")
    if [*tree] == ["row", "wrong", "right"]:
        i = tree["row"]
        need(type(i) is int and i in room and i not in wrong, "a tree branches on another row")
        yield from leaves(tree["wrong"], sets, room, paid + room[i], {*wrong, i}, depth + 1)
        rest = {k: x for k, x in room.items() if k != i}
        yield from leaves(tree["right"], sets, rest, paid, wrong, depth + 1)
        return
    need([*tree] == ["shares"], "a leaf has other fields")
    shares = keyed(tree["shares"], len(sets), fraction)
    need(all(wrong.isdisjoint(sets[s]) for s in shares), "a contradiction has a wrong row")
    borne = {i: sum(x for s, x in shares.items() if i in sets[s]) for i in room}
    need(all(borne[i] <= room[i] for i in room), "shares exceed the weight of a row")
    yield paid + sum(shares.values())


def added(planes, normal, errors):
    """Add a plane with its errors on either side, where its normal is positive and negative."""
    scale = math.lcm(*(Fraction(x).denominator for x in normal))
    whole = [int(x * scale) for x in normal]
    first, common = next((x for x in whole if x), 0), math.gcd(*whole) or 1
    whole, errors = ([-x for x in whole], errors[::-1]) if first < 0 else (whole, errors)
    old = planes.get(key := tuple(x // common for x in whole), (0, 0))
    planes[key] = old[0] + errors[0], old[1] + errors[1]


def tried(rows, size, strict):
    """Return the least weight of errors of any weights, given pairs (sign-flipped row, weight)."""
    planes: dict = {}
    for row, weight in rows:
        added(planes, row, (0, weight))  # it errs on its negative side
    zeros = planes.pop((0,) * size, (0, 0))  # which always err, or never
    return sum(zeros) * strict + least(planes, size, strict)


def least(planes, size, strict):
    """Return the fewest errors of planes in a space.

    A cell between the planes has a side on one of them, where it is a cell of the lines in which
    the others meet it. Weights that need not be strict may move to a corner of their cell.
    """
    if size < 2:
        return min(map(min, planes.values()), default=0)
    if size == 2:
        order = sorted(planes, key=lambda a: Fraction(a[1], a[0]) if a[0] else math.inf)
        now = sum(planes[a][0] for a in order)  # on the positive sides of all of them
        every, found = sum(map(sum, planes.values())), []
        for below, above in (planes[a] for a in order):  # beside it or on it, also turned round
            found += [now, every - now] if strict else [now - below, every - now - above]
            now += above - below
        return min(found, default=0)
    found = []
    for plane, errors in planes.items():
        pivot, there = next(j for j, x in enumerate(plane) if x), dict[tuple, tuple]()
        for a in planes.keys() - {plane}:
            line = [plane[pivot] * x - plane[j] * a[pivot] for j, x in enumerate(a) if j != pivot]
            added(there, line, planes[a])
        found.append(min(errors) * strict + least(there, size - 1, strict))
    return min(found, default=0)


class Problem:
    """The constraints of all rows: {(row, number of the constraint): (constraint, side)}."""

    def __init__(self, rows, labels, classes, positive, negative, features, bias, columns):
        self.features, self.bias, self.width = features, bias, features + bias
        self.positive, self.classes, self.limits = positive, classes, dict[int, str]()
        self.blocks, self.plain = 1 if positive else len(classes) - 1, positive and columns is None
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
        """Return (positive multiplier, constraint, side) for each row of a combination."""
        need([*given] == ["rows", "which", "multipliers"], "a combination has other fields")
        rows, which, texts = map(list.__iter__, given.values())
        keys, multipliers = pairs_of([*zip(rows, which, strict=True)]), [*map(long, texts)]
        need(min(multipliers, default=1) > 0 and math.gcd(*multipliers) <= 1, "multipliers")
        return [(m, *self.constraints[key]) for m, key in zip(multipliers, keys, strict=True)]

    def sum_of(self, given):
        """Return the sum of a combination, which must not be empty."""
        return total((m, a) for m, a, _ in self.named(given) or need(False, "it is empty"))

    def separable(self, given):
        """Check that the weights classify every row with the margin, which none can exceed."""
        need([*given][3:] == ["coef", "intercept", "margin", "support"], "it has other fields")
        low, high = (math.inf if end is None else end for end in given["margin"])
        fine = type(low) is type(high) is float and "-0.0" not in (str(low), str(high))
        need(fine and 0 <= low <= high and low < math.inf, "a malformed margin")
        need(self.plain or (low, high) == (0, math.inf), "no margin is defined here")
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
            far = (v := dot(a, w)) > 0 and v**2 >= Fraction(low) ** 2 * square
            need(far, f"row {i + 1} is wrong")
        support = [(m, a, side * self.bias) for m, a, side in self.named(given["support"])]
        need(bool(support) is (high < math.inf), "support rows go with a margin")
        if support:
            of = {side: sum(m for m, _, s in support if s == side) for _, _, side in support}
            need(len(of) == 1 + self.bias, "the support rows are all on one side")
            point = total((Fraction(m, of[side] * len(of)), a) for m, a, side in support)
            square = sum(x * x for j, x in point.items() if j < self.features)
            need(square <= Fraction(high) ** 2, "the support rows allow a wider margin")

    def overlapping(self, given, more=()):
        """Check that certificate and spanning rows sum to zero; the latter must span the space."""
        need([*given][3:] == ["witness", "spanning", "space", *more], "it has other fields")
        space = space_of(given["space"], self.size)
        self.limits = dict.fromkeys(self.kept(space), "finite")
        need(not (self.sum_of(given["witness"]) or self.sum_of(given["spanning"])), "it is not 0")
        need_span((a for _, a, _ in self.named(given["spanning"])), space)
        inside = [key for key, (a, _) in self.constraints.items() if not left_of(a, space)]
        need((len(inside) < len(self.constraints)) is bool(more), "not all rows are in the space")
        return space, sorted({i for i, _ in inside})

    def quasi_separable(self, given):
        """Check that the direction is positive on all rows outside the space, the boundary."""
        more = ["direction", "boundary", "everything", "basis", "signs", *{"unchecked"} & {*given}]
        space, boundary = self.overlapping(given, more)
        need(dumps(given["boundary"]) == dumps(boundary), "the boundary rows differ")
        direction = keyed(given["direction"], self.size)
        need(not any(dot(row, direction) for row in space.values()), "it is not 0 on the space")
        everything = space_of(given["everything"], self.size)
        for (i, _), (a, _) in self.constraints.items():
            need(not left_of(a, everything), f"row {i + 1} is not in the space of all rows")
            need(dot(a, direction) > 0 or not left_of(a, space), f"row {i + 1} is on no side")
        need_span((self.constraints[key][0] for key in pairs_of(given["basis"])), everything)
        kept = self.kept(everything)
        self.limits = {j: "infinite" if left_of(a, space) else "finite" for j, a in kept.items()}
        for j, added in keyed(given["signs"], self.size, self.sum_of).items():
            wanted, left = left_of(kept[j], space), left_of(added, space)
            times = {left.get(i, 0) / x * dot(kept[j], direction) for i, x in wanted.items()}
            need(len(times) == 1 and min(times) > 0 and left.keys() == wanted.keys(), "other sums")
            self.limits[j] = "+inf" if dot(kept[j], direction) > 0 else "-inf"
        rest = [j for j in sorted(kept) if str(j) not in given["signs"] and j in given[more[-1]]]
        need(not more[5:] or (rest and dumps(given[more[-1]]) == dumps(rest)), "unchecked is wrong")
        open_ = [j for j in rest if more[5:] and self.limits[j] == "infinite"]
        self.limits |= dict.fromkeys(open_, "sign not checked")

    def kept(self, space):
        """Return the columns independent of the constant and of earlier ones, with their rows."""
        kept = dict(space)
        for one in range(self.features, self.size, self.width) if self.bias else ():
            if holders := sorted(p for p, row in kept.items() if one in row and p != one):
                out = kept.pop(holders[-1])
                out = kept[one] = {j: x / out[one] for j, x in out.items()}
                kept |= {p: total([(1, kept[p]), (-kept[p][one], out)]) for p in holders[:-1]}
        return kept

    def fewest(self, given, count):
        """Check the errors of a hyperplane, and that none errs less; return both ends."""
        good = [*given] == ERRORS and type(given["strict"]) is bool and fraction(given["unit"])
        need(good and self.blocks == 1 and bool(self.positive), "bad errors")
        weights = [1] * count if given["weights"] is None else [*map(long, given["weights"])]
        low, high = long(given["least"]), long(given["most"])
        need(len(weights) == count and min(weights) >= 0 <= low <= high, "bad weights or ends")
        side, w = {i: a for (i, _), (a, _) in self.constraints.items()}, given["hyperplane"]
        need(keyed(w, self.size) or given["strict"], "all weights of the hyperplane are zero")
        scores = {i: dot(a, keyed(w, self.size)) for i, a in side.items() if weights[i]}
        wrong = [i for i, v in scores.items() if v < 0 or (given["strict"] and v == 0)]
        need(dumps(given["rows"]) == dumps(wrong), "the hyperplane misclassifies other rows")
        need(sum(weights[i] for i in wrong) == high, "the hyperplane has other errors")
        for one in map(self.named, list.__iter__(given["contradictions"])):
            need(one and not total((m, a) for m, a, _ in one), "a contradiction is not 0")
            full = given["strict"] or modular_rank(a for _, a, _ in one) == self.size
            need(full, "a contradiction does not span the space of all weights")
        sets, seen = [one["rows"] for one in given["contradictions"]], set[int]()
        room = {i: weights[i] for rows in sets for i in rows}
        for same in list.__iter__(given["copies"]):
            pairs_of([[i, 0] for i in list.__iter__(same)])
            need(len(same) > 1 and seen.isdisjoint(same), "copies are missing or repeated")
            need(all(side[i] == side[same[0]] for i in same), "copies are not equal")
            seen |= {*same}
            room = {i: x for i, x in room.items() if i not in same}
            room[same[0]] = sum(weights[i] for i in same)
        need(all(i in room for rows in sets for i in rows), "a contradiction has a copy")
        if "exhaustive" in given["tree"]:
            need(dumps(given["tree"]) == '{"exhaustive": true}', "it has other fields")
            need(self.size <= 4, "not all hyperplanes can be tried in so many dimensions")
            every = [([a.get(j, 0) for j in range(self.size)], weights[i]) for i, a in side.items()]
            bounds = [tried(every, self.size, given["strict"])]
        else:
            bounds = leaves(given["tree"], sets, room, 0, set())
        step = math.gcd(*(weights[i] for i in side)) or 1  # sums of weights are multiples of it
        need(all(-(-x // step) * step >= low for x in bounds), "the lower end is not reached")
        return low * fraction(given["unit"]), high * fraction(given["unit"])


def check(text, rows, labels, names, width):
    """Return the claims of a proof as lines; raise one of WRONG if it does not hold."""
    rows = [{j: Fraction(x) for j, x in sorted(row.items()) if x} for row in rows]
    labels = [int(x) if isinstance(x, float) and x.is_integer() else x for x in labels]
    plain = loads(text)
    need(plain["format"] == "linsep proof 3", "its format is not 'linsep proof 3': write it again")
    need(dumps(plain, indent=1, allow_nan=False) + "\n" == text, "it was edited")
    claimed, bias, recipe = plain["data"]["names"], plain["fit_intercept"] is True, plain["recipe"]
    chosen, verdicts, classes = plain["formulations"], plain["verdicts"], sorted(set(labels))
    columns = plain["data"]["columns"]
    if columns is not None:
        rows = part_of(rows, width, columns, {v["kind"] for v in verdicts} != {"separable"})
        names, width = None, len(columns)
    same = claimed is None or (names in (None, claimed) and "".join(claimed).encode() is not None)
    same = same and (claimed is None or (columns is None and len(claimed) == width))
    need(same, "the features have other names")
    about = {"rows": len(rows), "features": width, "names": claimed and [*claimed]}
    about |= {"classes": classes, "columns": columns, "sha256": hash_of(rows, labels, width)}
    whole: dict = {"format": plain["format"], "recipe": None if recipe is None else {**recipe}}
    whole |= {"data": about, "fit_intercept": bias, "formulations": chosen, "verdicts": verdicts}
    need(dumps(plain) == dumps(whole), "it is about other data, or has other fields")
    pairs = [[[b], [a]] for k, a in enumerate(classes) for b in classes[k + 1 :]]
    known = {"ovr": [[[k], [c for c in classes if c != k]] for k in classes], "ovo": pairs}
    known = {"ovo": pairs} if len(classes) == 2 else known | {"multinomial": [[[], []]]}
    order = [name for name in known if name in (chosen or known)]
    sides = [both for name in order for both in known[name]]
    given = [[verdict["positive"], verdict["negative"]] for verdict in verdicts]
    good = [dumps([both]) for both in sides]
    good = good if chosen is None else [dumps(sides)] * (len(known) > 1 and chosen == order)
    need(dumps(given) in good, "it has other formulations or sides")
    found: list[str] = []
    for (positive, negative), verdict in zip(given, verdicts, strict=True):
        fine = verdict["kind"] in ("separable", "overlapping", "quasi-separable")
        need(fine and [*verdict][:3] == ["kind", "positive", "negative"], "it has no claim")
        problem = Problem(rows, labels, classes, positive, negative, width, bias, columns)
        found += lines_of(verdict, problem, claimed, columns, len(rows))
    shown = f"features: {width}{': ' * bool(claimed)}{some(claimed or [])}"
    shown = shown if columns is None else f"Gram matrix: columns {some(columns)}"
    found += [f"classes: {some(classes)}", f"intercept: {'yes' if bias else 'no'}", shown]
    return [*found, f"rows: {len(rows)}"]


def lines_of(verdict, problem, names, columns, count):
    """Check a verdict; return what it claims as lines."""
    proof = {name: part for name, part in verdict.items() if name != "errors"}
    need([*verdict] == [*proof, *["errors"] * (len(verdict) - len(proof))], "it has other fields")
    getattr(problem, verdict["kind"].replace("-", "_"))(proof)
    positive, classes = verdict["positive"], problem.classes
    sides = f"{some(positive)} against {some(verdict['negative'])}"
    every = f"{some(classes)}, each above every other"
    found = [f"{verdict['kind']}: {sides if positive else every}"]
    if verdict["kind"] == "separable" and verdict["margin"][1] is not None:
        found += ["  margin: {!r} to {!r}".format(*verdict["margin"])]
    called = [f"column {j}" for j in columns] if columns else names or range(problem.features)
    called = [*map(str, called), *["intercept"] * problem.bias]
    called = called if positive else [f"{k}: {name}" for k in classes[:-1] for name in called]
    limits = [problem.limits.get(j, "dependent") for j in range(len(called))]
    for limit in [] if verdict["kind"] == "separable" else sorted(set(limits)):
        found += [f"  {limit}: {some(called[j] for j, x in enumerate(limits) if x == limit)}"]
    if "errors" in verdict:
        low, high = problem.fewest(verdict["errors"], count)
        which = some(i + 1 for i in verdict["errors"]["rows"])
        found += [f"  fewest errors: {low} to {high}; a hyperplane errs on rows {which or 'none'}"]
    return found


def some(items):
    """Return the first items as text."""
    shown = [*map(str, items)]
    return ", ".join(shown[:12]) + ", ..." * (len(shown) > 12)


if __name__ == "__main__":
    parser = ArgumentParser("python -m linsep.check")
    parser.add_argument("files", nargs=2, metavar="FILE", help="PROOF and DATA")
    parser.add_argument("--target", help="label column, if DATA is CSV")
    parser.add_argument("--exclude", action="append", default=[], help="column to exclude")
    parser.add_argument("--time-limit", type=float, help="in seconds; needs threads")
    given = parser.parse_args()
    try:
        if given.time_limit is not None:
            Thread(target=Timer(given.time_limit, interrupt_main).run, daemon=True).start()
        need(all(map(os.path.isfile, given.files)), "PROOF and DATA are not both files")
        data = read(given.files[1], given.target, given.exclude)
        with open(given.files[0], encoding="ascii", newline="") as proof:
            print("It holds.", *check(proof.read(), *data), sep="\n")
    except (*WRONG, RuntimeError, KeyboardInterrupt) as problem:  # the latter when the time is up
        found = f"Not proved ({type(problem).__name__}): {problem}"
        raise SystemExit(f"{found}\nWith other options: use linsep verify.") from None
