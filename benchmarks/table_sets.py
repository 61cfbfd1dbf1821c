"""Mixed tables of numbers and text, two to 26 classes: real ones that are at hand, made ones."""

import gzip
from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
from sklearn import datasets

from benchmarks.accuracy import SHARED, digits, svmlight

LABEL = "label"
#: how many values each of the fourteen columns of a9a has
A9A = {
    "age": 5, "work": 8, "weight": 5, "school": 16, "years": 5, "marriage": 7, "job": 14,
    "relation": 6, "race": 5, "sex": 2, "gain": 2, "loss": 2, "hours": 5, "country": 41,
}  # fmt: skip


def sets() -> dict[str, Callable[[], pd.DataFrame]]:
    """The tables by name; tables of shared data only where these are available."""
    made = {
        "iris": lambda: _bundled(datasets.load_iris),
        "wine": lambda: _bundled(datasets.load_wine),
        "breast cancer": lambda: _bundled(datasets.load_breast_cancer),
        "diabetes, thirds": _diabetes,
        "abalone-like": _abalone,
        "balance scale": _balance,
        "by date": _by_date,
        "cars": _cars,
        "credit": _credit,
        "flights": _flights,
        "letters": _letters,
        "LED display": _led,
        "nursery": _nursery,
        "sensors": _sensors,
        "soil": _soil,
        "tic-tac-toe": _tic_tac_toe,
        "waveform": _waveform,
    }
    shared = {
        "adult (a9a)": _adult,
        "genes (dna)": _genes,
        "heart": _heart,
        "mushrooms": _mushrooms,
        "promoters": _promoters,
        "spam": _spam,
        "MNIST, 14 x 14": _small_digits,
    }
    return made | (shared if SHARED.is_dir() else {})


def later_sets() -> dict[str, Callable[[], pd.DataFrame]]:
    """Tables that no rule of ``linsep describe`` was chosen on."""
    made = {"digits, 8 x 8": lambda: _bundled(datasets.load_digits)}
    return made | ({"engine (ijcnn1)": _engine} if SHARED.is_dir() else {})


def _engine() -> pd.DataFrame:
    X, y = svmlight("ijcnn1.bz2", 22)
    rows = np.random.default_rng(0).permutation(len(y))[:10_000]
    return pd.DataFrame(X[rows].toarray()).rename(columns="x{}".format).assign(**{LABEL: y[rows]})


def _bundled(load: Callable) -> pd.DataFrame:
    data = load(as_frame=True)
    return data.data.assign(**{LABEL: data.target_names[data.target]})


def _diabetes() -> pd.DataFrame:
    data = datasets.load_diabetes(as_frame=True, scaled=False)
    thirds = pd.qcut(data.target, 3, labels=["low", "middle", "high"])
    sex = np.where(data.data.sex == 1, "female", "male")
    return data.data.assign(sex=sex, **{LABEL: thirds.astype(str)})


def _classes(scores: np.ndarray, names: list[str], noise: np.random.Generator) -> np.ndarray:
    """The class of the highest score of each row, with noise as large as a fifth of the scores."""
    scores = scores - scores.mean(axis=0)
    scores = scores + 0.2 * scores.std() * noise.standard_normal(scores.shape)
    return np.array(names)[scores.argmax(axis=1)]


def _words(rng: np.random.Generator, rows: int, words: list[str]) -> np.ndarray:
    return rng.choice(words, rows, p=rng.dirichlet(np.full(len(words), 2.0)))


def _abalone() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = rng.choice(["F", "I", "M"], 4000)
    size = rng.gamma(8.0, 0.06, 4000) * np.where(sex == "I", 0.7, 1.0)
    noisy = [size * share * rng.lognormal(0, 0.1, 4000) for share in (1.0, 0.8, 0.27)]
    weights = [size**3 * share * rng.lognormal(0, 0.15, 4000) for share in (9, 4, 2, 2.5)]
    age = 4 + 12 * size + 3 * rng.standard_normal(4000) * size
    names = ["length", "diameter", "height", "whole", "meat", "gut", "shell"]
    table = pd.DataFrame(dict(zip(names, [*noisy, *weights], strict=True))).round(4)
    return table.assign(sex=sex, **{LABEL: np.digitize(age, [8, 11])})


def _balance() -> pd.DataFrame:
    rows = np.array(list(product(range(1, 6), repeat=4)))
    tips = np.sign(rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3])
    names = ["left weight", "left distance", "right weight", "right distance"]
    return pd.DataFrame(rows, columns=names).assign(**{LABEL: np.array(["B", "L", "R"])[tips]})


def _by_date() -> pd.DataFrame:
    """Bookings in the order of their dates, whose amounts grow a hundredfold on the way."""
    rng = np.random.default_rng(2)
    day = np.sort(rng.integers(0, 2000, 5000))
    amount = np.exp(4 + day / 450) * rng.lognormal(0, 0.7, 5000)
    kind, hour = (
        _words(rng, 5000, ["card", "cash", "transfer", "check"]),
        rng.integers(0, 24, 5000),
    )
    score = np.log(amount) - day / 450 + 0.1 * hour + (kind == "card") * 1.5
    fraud = score + 0.3 * rng.standard_normal(5000) > np.quantile(score, 0.8)
    return pd.DataFrame(
        {"day": day, "amount": amount.round(2), "kind": kind, "hour": hour, LABEL: fraud}
    )


def _cars() -> pd.DataFrame:
    """All combinations of six properties, judged by a rule that is not quite linear."""
    levels = {
        "buying": ["vhigh", "high", "med", "low"], "maint": ["vhigh", "high", "med", "low"],
        "doors": ["2", "3", "4", "more"], "persons": ["two", "four", "more"],
        "boot": ["small", "med", "big"], "safety": ["low", "med", "high"],
    }  # fmt: skip
    codes = np.array(list(product(*map(range, map(len, levels.values())))))
    price, comfort = codes[:, 0] + codes[:, 1], codes[:, 2] / 3 + codes[:, 3] + codes[:, 4]
    worth = price + comfort + 2 * codes[:, 5]
    bad = (codes[:, 3] == 0) | (codes[:, 5] == 0) | (price == 0)
    grade = np.where(bad, 0, np.digitize(worth, [6, 9, 11]))
    table = {name: np.array(words)[codes[:, j]] for j, (name, words) in enumerate(levels.items())}
    table["doors"] = np.char.add(table["doors"], " doors")
    return pd.DataFrame(table | {LABEL: np.array(["unacc", "acc", "good", "vgood"])[grade]})


def _credit() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 6000
    income, debt = rng.lognormal(10.3, 0.6, n).round(), rng.lognormal(8.5, 1.1, n).round()
    age, late = rng.integers(18, 80, n), rng.poisson(0.7, n)
    job = _words(rng, n, ["none", "farm", "office", "shop", "works", "own firm", "state"])
    home = _words(rng, n, ["rent", "own", "parents"])
    risk = (
        1.2 * np.log(debt / income) + 0.9 * late - 0.02 * age + (job == "none") * 1.1
        - (home == "own") * 0.8 + rng.logistic(0, 0.7, n)
    )  # fmt: skip
    return pd.DataFrame(
        {"income": income, "debt": debt, "age": age, "late": late, "job": job, "home": home,
         "share": (debt / income).round(3), LABEL: np.where(risk > np.quantile(risk, 0.7), "bad",
                                                            "good")}
    )  # fmt: skip


def _flights() -> pd.DataFrame:
    """Text columns of many values beside times in minutes and distances in miles."""
    rng = np.random.default_rng(4)
    n = 8000
    ports = [f"{a}{b}{c}" for a, b, c in product("ABDEF", "KLMO", "RSTX")]
    start, end = _words(rng, n, ports), _words(rng, n, ports)
    line, minute = (
        _words(rng, n, [f"{a}{b}" for a in "ABCD" for b in "XYZ"]),
        rng.integers(0, 1440, n),
    )
    miles = rng.integers(80, 2800, n)
    of_port = dict(zip(ports, rng.standard_normal(len(ports)), strict=True))
    delay = (
        minute / 300 + np.vectorize(of_port.get)(start) + 0.5 * np.vectorize(of_port.get)(end)
        - miles / 2000 + rng.standard_normal(n)
    )  # fmt: skip
    return pd.DataFrame(
        {"from": start, "to": end, "line": line, "minute": minute, "miles": miles,
         LABEL: np.digitize(delay, np.quantile(delay, [0.6, 0.85]))}
    )  # fmt: skip


def _letters() -> pd.DataFrame:
    """Sixteen whole numbers from 0 to 15 about each of 26 letters, as pictures of them have."""
    rng = np.random.default_rng(5)
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    of = rng.integers(0, 26, 8000)
    middle, spread = rng.uniform(3, 11, (26, 16)), rng.uniform(1, 2.6, (26, 16))
    numbers = np.clip(np.round(middle[of] + spread[of] * rng.standard_normal((8000, 16))), 0, 15)
    table = pd.DataFrame(numbers.astype(int), columns=[f"n{j}" for j in range(16)])
    return table.assign(**{LABEL: letters[of]})


def _led() -> pd.DataFrame:
    """Seven lamps, each wrong one time in ten, and seventeen that say nothing (Breiman)."""
    rng = np.random.default_rng(6)
    lit = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010",
           "1111111", "1111011"]  # fmt: skip
    of = rng.integers(0, 10, 4000)
    lamps = np.array([[c == "1" for c in word] for word in lit])[of]
    lamps = np.hstack([lamps ^ (rng.random(lamps.shape) < 0.1), rng.random((4000, 17)) < 0.5])
    return pd.DataFrame(
        np.where(lamps, "on", "off"), columns=[f"lamp{j}" for j in range(24)]
    ).assign(**{LABEL: of})


def _nursery() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    levels = {
        "parents": ["usual", "pretentious", "great_pret"],
        "nurse": ["proper", "less", "improper", "critical", "very_crit"],
        "form": ["complete", "completed", "incomplete", "foster"],
        "children": ["1", "2", "3", "more"],
        "housing": ["convenient", "less", "critical"], "finance": ["fine", "tight"],
        "social": ["nonprob", "slightly", "problematic"],
        "health": ["recommended", "priority", "not_recom"],
    }  # fmt: skip
    codes = np.array([rng.integers(0, len(words), 6000) for words in levels.values()]).T
    need = codes @ [1.2, 1.0, 0.5, 0.4, 0.6, 0.4, 0.5, 1.0]
    grade = np.where(codes[:, 7] == 2, 0, 1 + np.digitize(need, np.quantile(need, [0.3, 0.7])))
    table = {name: np.array(words)[codes[:, j]] for j, (name, words) in enumerate(levels.items())}
    table["children"] = np.char.add(table["children"], " children")
    names = np.array(["not_recom", "recommend", "priority", "spec_prior"])
    return pd.DataFrame(table | {LABEL: names[grade]})


def _sensors() -> pd.DataFrame:
    """Numbers far from zero that differ little, of very different units."""
    rng = np.random.default_rng(8)
    of = rng.integers(0, 4, 3000)
    middle = rng.standard_normal((4, 8))
    numbers = middle[of] + 0.8 * rng.standard_normal((3000, 8))
    units, offsets = 10.0 ** np.arange(-4, 4), [1, 20, -3, 1013, 273, 5e4, 1e5, -2e6]
    table = pd.DataFrame(numbers * units + offsets, columns=[f"s{j}" for j in range(8)])
    return table.assign(site=_words(rng, 3000, ["north", "south"]), **{LABEL: of})


def _soil() -> pd.DataFrame:
    """Seven kinds of forest by height, distances in meters, angles in degrees, and soils."""
    rng = np.random.default_rng(9)
    n, kinds = 8000, ["spruce", "pine", "ponderosa", "willow", "aspen", "fir", "krummholz"]
    height, slope = rng.normal(2900, 300, n).round(), rng.gamma(3, 5, n).round()
    water, road = rng.gamma(1.2, 220, n).round(), rng.gamma(1.5, 1500, n).round()
    area = _words(rng, n, ["Rawah", "Neota", "Comanche", "Cache"])
    soil = _words(rng, n, [f"soil {j}" for j in range(30)])
    of_soil = dict(zip([f"soil {j}" for j in range(30)], rng.standard_normal((30, 7)), strict=True))
    numbers = np.column_stack([(height - 2900) / 150, slope / 12, water / 300, road / 2000])
    scores = 1.5 * numbers @ rng.standard_normal((4, 7)) + np.array([of_soil[s] for s in soil])
    return pd.DataFrame(
        {"height": height, "slope": slope, "water": water, "road": road, "area": area, "soil": soil,
         LABEL: _classes(scores, kinds, rng)}
    )  # fmt: skip


def _tic_tac_toe() -> pd.DataFrame:
    """Every board that a game can end with; whether x, who began, has won."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    boards: dict[str, bool] = {}

    def play(board: str, turn: str) -> None:
        for player in "xo":
            if any(all(board[k] == player for k in line) for line in lines):
                boards[board] = player == "x"
                return
        if "b" not in board:
            boards[board] = False
            return
        for k in (k for k in range(9) if board[k] == "b"):
            play(board[:k] + turn + board[k + 1 :], "o" if turn == "x" else "x")

    play("b" * 9, "x")
    names = [f"{row} {column}" for row in ("top", "middle", "bottom") for column in "lmr"]
    table = pd.DataFrame([list(board) for board in boards], columns=names)
    return table.assign(**{LABEL: np.where(list(boards.values()), "won", "not won")})


def _waveform() -> pd.DataFrame:
    """Three mixtures of two of three waves (Breiman)."""
    rng = np.random.default_rng(10)
    at = np.arange(21)
    waves = [np.maximum(6 - abs(at - middle), 0) for middle in (6, 14, 10)]
    of, share = rng.integers(0, 3, 5000), rng.random((5000, 1))
    first, second = np.array(waves)[[0, 0, 1]][of], np.array(waves)[[1, 2, 2]][of]
    X = share * first + (1 - share) * second + rng.standard_normal((5000, 21))
    return pd.DataFrame(X.round(2), columns=[f"x{j}" for j in at]).assign(**{LABEL: of})


def _coded(name: str, sizes: dict[str, int], rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Text columns out of indicators, so many of each; empty where none is set."""
    X, y = svmlight(name, sum(sizes.values()))
    X, table, first = X[:rows].toarray(), {}, 0
    for column, size in sizes.items():
        part = X[:, first : first + size]
        code = np.where(part.any(axis=1), part.argmax(axis=1), -1)
        table[column] = np.char.add(f"{column[0]}", code.astype(str))
        first += size
    return pd.DataFrame(table), y[:rows].astype(int)


def _adult() -> pd.DataFrame:
    table, y = _coded("a9a.gz", A9A, 10_000)
    numbers = {  # ordered values as the numbers that they stand for, about
        "age": np.array([38, 22, 32, 42, 60]), "years": np.array([10, 7, 9, 11, 14]),
        "hours": np.array([40, 20, 38, 45, 60]),
    }  # fmt: skip
    for name, values in numbers.items():
        table[name] = values[table[name].str[1:].astype(int)]
    return table.assign(**{LABEL: y})


def _genes() -> pd.DataFrame:
    X, y = svmlight("dna.scale.gz", 180)
    codes = X.toarray().reshape(-1, 60, 3) @ [1, 2, 3]
    letters = np.array(list("TACG"))[codes.astype(int)]
    names = np.array(["ei", "ie", "n"])[y.astype(int) - 1]
    return pd.DataFrame(letters, columns=[f"at {j - 30}" for j in range(60)]).assign(
        **{LABEL: names}
    )


def _heart() -> pd.DataFrame:
    X, y = svmlight("heart_scale.gz", 13)
    X = X.toarray()
    low, high = (
        [29, 0, 1, 94, 126, 0, 0, 71, 0, 0, 1, 0, 3],
        [77, 1, 4, 200, 564, 1, 2, 202, 1, 6.2, 3, 3, 7],
    )
    X = np.round((X + 1) / 2 * (np.array(high) - low) + low, 1)
    names = ["age", "sex", "pain", "pressure", "cholesterol", "sugar", "ecg", "rate", "angina",
             "oldpeak", "slope", "vessels", "thal"]  # fmt: skip
    table = pd.DataFrame(X, columns=names)
    for name in ("pain", "ecg", "slope", "thal"):
        table[name] = name[0] + table[name].astype(int).astype(str)
    return table.assign(**{LABEL: np.where(y > 0, "present", "absent")})


def _mushrooms() -> pd.DataFrame:
    lines = (SHARED / "libsvm" / "agaricus.txt.train").read_text().splitlines()
    rows = [line.split() for line in lines]
    table = pd.DataFrame([[f"v{pair.split(':')[0]}" for pair in row[1:]] for row in rows])
    table.columns = [f"property {j}" for j in range(table.shape[1])]
    return table.assign(**{LABEL: ["poisonous" if row[0] == "1" else "edible" for row in rows]})


def _promoters() -> pd.DataFrame:
    lines = (SHARED / "strings" / "promoters.data").read_text().split("\n")
    rows = [line.replace("\t", "").strip().split(",") for line in lines if line]
    table = pd.DataFrame([list(row[2]) for row in rows], columns=[f"at {j}" for j in range(57)])
    return table.assign(**{LABEL: [row[0] for row in rows]})


def _spam() -> pd.DataFrame:
    with gzip.open(SHARED / "text" / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    text = pd.Series([row[1] for row in rows])
    first = text.str.lower().str.extract(r"([a-z]+)")[0].fillna("-")
    common = first.value_counts().index[:40]
    return pd.DataFrame(
        {"length": text.str.len(), "digits": text.str.count(r"\d"),
         "capitals": text.str.count("[A-Z]"), "shouts": text.str.count("!"),
         "money": np.where(text.str.contains("[£$]"), "yes", "no"),
         "first": first.where(first.isin(common), "other"), LABEL: [row[0] for row in rows]}
    )  # fmt: skip


def _small_digits() -> pd.DataFrame:
    X, y = digits("t10k")
    X = (255 * X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))).round().astype(int)
    return pd.DataFrame(X.reshape(-1, 196), columns=[f"p{j}" for j in range(196)]).assign(
        **{LABEL: y}
    )
