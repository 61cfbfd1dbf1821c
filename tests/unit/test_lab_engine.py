"""The engine of the lab, in JavaScript: the numbers are those of the library and its twins."""

import math
import re

import numpy as np
import pytest
from sklearn.svm import SVC

import linsep
from lab_engine import (
    answer,
    answers,
    close,
    data,
    opened,
    path,
    random_urls,
    run_as_in_python,
    run_javascript,
    run_script,
    scene_urls,
)
from linsep import check, textbook
from linsep.lab.file import joined
from thoroughness import THOROUGH


def scene(url):
    return answer(kind="open", url=url)["scene"]


def asked(kind, *urls, **more):
    scenes = [one["scene"] for one in opened(*urls)]
    return answers([{"kind": kind, "scene": one, **more} for one in scenes])


@pytest.mark.compiled
def test_scenes_are_run_as_the_library_runs_them():
    urls = scene_urls(300 if THOROUGH else 40, seed=1)
    run_as_in_python(urls, opened(*urls))


KEPT = [
    ("data=clouds", {}), ("data=outlier", {"learner": "batch"}),
    ("data=iris&classes=ovo", {"learner": "margin", "gamma": 0.2}),
    ("data=four-clouds&classes=ovr", {"zero": "negative"}),
    ("data=outlier", {"learner": "balanced-winnow"}), ("data=iris", {"shuffle": "yes", "seed": 3}),
    ("data=four-clouds&classes=ovr", {"rate": 0.5, "schedule": "inverse"}),
]  # fmt: skip


def test_kept_weights_are_those_of_the_textbook_at_every_step():
    urls = [f"{url}&rounds=230" + "".join(f"&{k}={v}" for k, v in how.items()) for url, how in KEPT]
    shown = opened(*urls)
    scripts = answers([{"kind": "script", "scene": one["scene"]} for one in shown])
    for one, script in zip(shown, scripts, strict=True):
        run, zero = one["run"], one["scene"]["settings"]["zero"]
        steps = run_script(script["text"])[1]["rounds"].steps
        X, codes = [p[:2] for p in one["scene"]["points"]], [p[2] for p in one["scene"]["points"]]
        ends = [t for t in range(1, len(steps)) if steps[t].pass_number != steps[t - 1].pass_number]
        for keep in ("average", "best"):
            # the pocket, and the weights of a batch rule, change at the end of a pass
            batch = one["scene"]["settings"]["learner"] == "batch"
            inside = [] if keep == "best" or batch else [1, 57, 79]
            for t in (*inside, *ends[:3], len(steps)):
                kept = textbook.kept(
                    steps[:t], keep, run["scheme"], len(run["present"]), X=X, y=codes, zero=zero
                )
                wanted = np.column_stack(
                    [np.atleast_1d(kept.intercept), np.atleast_2d(kept.weights)]
                )
                np.testing.assert_allclose(path(run, keep)[t], wanted, rtol=1e-12, atol=1e-12)


def test_the_notes_run_of_five_points_and_a_cycle():
    five, cycle, cut = (one["run"] for one in opened(
        "data=five-points&start=-1,0,0", "data=inseparable&start=1,1,1&beyond=yes&rounds=915",
        "data=inseparable&start=1,1,1&rounds=100",
    ))  # fmt: skip
    assert (five["rounds"], five["pass"][-1], sum(five["updates"])) == (1160, 232, 446)
    assert five["weights"][:3] + five["weights"][-3:] == [-1, 0, 0, -31, 12, 2]
    assert five["scores"][:5] == [-1, -1, 14, 17, 12]
    assert (cycle["rounds"], cycle["reason"], cycle["cycle"]) == (915, "cycle", [605, 650])
    weights = path(cycle)
    assert (weights[650 + 45 : 916] == weights[605 + 45 : 871]).all()
    assert (cut["reason"], cut["cycle"]) == ("cut", None)


@pytest.mark.compiled
def test_verdicts_margins_and_proofs_are_those_of_the_library():
    urls = ["data=five-points", "data=xor", "data=inseparable", "data=iris-easy", "data=outlier",
            "data=iris", "data=four-points&intercept=no",
            *(f"{url}&learner=perceptron" for url in random_urls(40, seed=2))]  # fmt: skip
    shown = [one for one in opened(*urls) if one["run"]]
    proofs = answers([{"kind": "proof", "scene": one["scene"]} for one in shown])
    saved = answers([{"kind": "certificate", "scene": one["scene"]} for one in shown])
    checked = 0
    for one, proof, file in zip(shown, proofs, saved, strict=True):
        points, chosen = one["scene"]["points"], one["scene"]["settings"]
        X, y = np.array([p[:2] for p in points]), [p[2] for p in points]
        verdict, found = proof["proof"]["verdict"], linsep.separation(
            X, y, fit_intercept=chosen["intercept"], margin="max"
        )  # fmt: skip
        if len(set(y)) > 2:
            assert verdict["kind"] in (found.multinomial.kind, "undecided")
            assert "two classes" in file["fault"]
            continue
        assert verdict["kind"] == found.kind, one["url"]
        if found.kind == "separable":
            assert verdict["margin"] == pytest.approx(found.margin[0], rel=1e-6)  # found in floats
        rows, labels, columns, width = check.read_csv(
            file["points"].splitlines(keepends=True), file["target"], []
        )
        assert check.check(file["proof"], rows, labels, columns, width) is not None
        checked += 1
    assert checked > 20


def test_bounds_hold_and_reasons_are_given():
    urls = ["", "&learner=margin&gamma=0.01", "&learner=margin&gamma=0.9", "&learner=margin",
            "&learner=batch", "&schedule=inverse", "&start=1,0,0", "&learner=kernel"]  # fmt: skip
    shown = opened(*(f"data=clouds{url}" for url in urls))
    proofs = answers([{"kind": "proof", "scene": one["scene"]} for one in shown])
    names = [[bound["name"] for bound in one["proof"]["bounds"]] for one in proofs]
    (two,) = asked("proof", "data=clouds&learner=margin&gamma=0.2")
    assert int(two["proof"]["bounds"][0]["value"]) == 200  # not that of floats
    assert names == [["Novikoff", "hinge", "hinge, sharp"], ["8/gamma²"], *[[]] * 6]
    for one, proof in zip(shown, proofs, strict=True):
        assert bool(proof["proof"]["bounds"]) != bool(proof["proof"]["unbounded"])
        for bound in proof["proof"]["bounds"]:
            assert 0 < sum(one["run"][bound["what"]]) <= bound["value"]
    points = np.array(shown[0]["scene"]["points"])
    X, y = points[:, :2], points[:, 2]
    known = linsep.Perceptron(shuffle=False).fit(X, y).bounds(X, y)
    known = {bound.name: bound.value for bound in known}
    for mine in proofs[0]["proof"]["bounds"]:
        assert mine["value"] == pytest.approx(known[mine["name"]], rel=1e-3)


def test_the_margin_of_the_theorem_is_that_of_points_with_a_constant():
    """R and γ as the panel prints them; the margin in the picture is no bound on 32 mistakes."""
    urls = ["points=3,0,0;6,0,1", "data=almost&rounds=10000", "data=clouds&intercept=no"]
    for one, proof in zip(opened(*urls), asked("proof", *urls), strict=True):
        bound, points = proof["proof"]["bounds"][0], one["scene"]["points"]
        said = [float(number) for number in re.findall(r" = ([\d.]+)", bound["about"])]
        X, y = np.split(np.array(points), [2], axis=1)
        known = linsep.bounds(X, y[:, 0], fit_intercept=one["scene"]["settings"]["intercept"])
        assert said == pytest.approx([known.longest, known.margin[0]], rel=1e-5)
        assert (said[0] / said[1]) ** 2 == pytest.approx(bound["value"], rel=3e-5)
        assert sum(one["run"]["mistakes"]) <= bound["value"]
        if len(points) == 2:  # 37/1.5² is 16
            assert (sum(one["run"]["mistakes"]), proof["proof"]["verdict"]["margin"]) == (32, 1.5)


def test_kernels_are_decided_in_their_space():
    places = ["xor&kernel=poly&degree=1", "xor&kernel=poly", "iris-hard",
              "moons&kernel=poly&degree=4", "xor&kernel=linear",
              "xor&kernel=all-subsets"]  # fmt: skip
    proofs = asked("proof", *(f"data={place}&learner=kernel" for place in places))
    kinds = [one["proof"]["verdict"]["kind"] for one in proofs]
    assert kinds == 3 * ["overlapping", "separable"]


def fits(*urls):
    return [one["fit"] for one in opened(*urls)]


def test_lines_curves_and_gaussians_are_those_of_the_estimators():
    line, curve, bayes, apart = fits("data=blood-pressure&room=line", "data=hours&room=curve",
                                     "data=bayes-iris&room=bayes",
                                     "data=hours-apart&room=curve")  # fmt: skip
    points = np.array(data()["ready"]["blood-pressure"]["points"])
    model = linsep.LinearRegression().fit(points[:, :1], points[:, 1])
    assert line["line"] == pytest.approx([model.intercept_, model.coef_[0]], rel=1e-10)
    points = np.array(data()["ready"]["hours"]["points"])
    for penalty, found in ((None, curve["curves"][0]), ("firth", curve["curves"][1])):
        model = linsep.LogisticRegression(penalty=penalty).fit(points[:, :1], points[:, 2])
        assert found["weights"] == pytest.approx(
            [*np.ravel(model.intercept_), *np.ravel(model.coef_)], rel=1e-6
        )
    assert [one["name"] for one in apart["curves"]] == ["Firth"]
    points = np.array(data()["ready"]["bayes-iris"]["points"])
    model = linsep.GaussianNaiveBayes().fit(points[:, :2], points[:, 2])
    wanted = model.predict_proba(points[:, :2])
    close([row[4:] for row in bayes["rows"]], wanted, 1e-9)


def test_the_soft_margin_is_that_of_libsvm():
    for name, C in [("clouds", 1000.0), ("outlier", 0.1), ("outlier", 1.0), ("iris-hard", 100.0)]:
        (fit,) = fits(f"data={name}&room=soft&cost={C}")
        points = np.array(data()["ready"][name]["points"])
        theirs = SVC(kernel="linear", C=C, tol=1e-9).fit(points[:, :2], points[:, 2])
        assert fit["weights"] == pytest.approx([*theirs.intercept_, *theirs.coef_[0]], abs=2e-3)
        objective, bound = (float(dict(fit["numbers"])[n]) for n in ("objective", "lower bound"))
        assert objective == bound
        if name != "iris-hard":  # whose dual variables are not unique
            assert sorted(fit["on"] + fit["inside"]) == sorted(theirs.support_.tolist())
    assert opened("data=bayes-iris&room=soft")[0]["fit"] is None


def test_a_descent_into_a_valley_shrinks_by_its_eigenvalues():
    for eta, title in [(1e-4, "is slow"), (0.02, "converges in 2"), (0.09, "zig-zags in "),
                       (0.1, "zig-zags"), (0.11, "diverges")]:  # fmt: skip
        (fit,) = fits(f"data=descent&room=descent&eta={eta}")
        assert f"x² + 10 y²: {title}" in fit["title"]
        rows = np.array([row[:4] for row in fit["rows"]])
        k = rows[:, 0]
        np.testing.assert_allclose(rows[:, 1], -2 * (1 - 2 * eta) ** k, rtol=1e-9)
        np.testing.assert_allclose(rows[:, 2], (1 - 20 * eta) ** k, rtol=1e-9, atol=1e-300)
    fit, curve, line = fits(
        "data=hours&room=descent&surface=likelihood&eta=0.02", "data=hours&room=curve",
        "data=worked-line&room=descent&surface=squared-error&eta=0.01",
    )  # fmt: skip
    assert fit["rows"][-1][1:3] == pytest.approx(curve["curves"][0]["weights"], abs=0.02)
    assert line["rows"][-1][1:3] == pytest.approx([1.10811, 1.16216], abs=1e-3)


@pytest.mark.compiled
def test_scripts_of_fits_print_the_numbers_of_the_page():
    for url, words in [
        ("data=blood-pressure&room=line", "98.7147"), ("data=hours&room=curve", "1.0867"),
        ("data=bayes-iris&room=bayes", "setosa"), ("data=outlier&room=soft", "3.59"),
        ("data=descent&room=descent&eta=0.09", "converged after 67 steps"),
        ("data=worked-line&room=descent&surface=squared-error&eta=0.01", "1.10"),
    ]:  # fmt: skip
        (script,) = asked("script", url)
        said, _ = run_script(script["text"])
        assert words in " ".join(str(part) for parts in said for part in parts)


def test_a_url_holds_every_setting_and_own_points():
    url = (
        "points=1,-2.5,0;0.1,100000,3&labels=a%2Cb,c%26d,%C3%A9%3B,%3D&features=x%20y,%23&room=line&cost=10&surface=bend&"
        "eta=0.5&from=0.25,-3&learner=kernel&keep=vote&rate=0.1&schedule=inverse&gamma=0.25&promotion=1.5&zero=negative&"
        "kernel=poly&degree=3&width=0.5&classes=ovo&intercept=no&start=-1.5,0.00001,2&shuffle=yes&seed=7&rounds=99&"
        "beyond=yes&at=5"
    )
    shown = answer(kind="open", url="#" + url)
    assert shown["url"] == url
    assert shown["scene"]["labels"] == ["a,b", "c&d", "é;", "="]
    assert {one["name"] for one in shown["fields"]} == {
        part.partition("=")[0] for part in url.split("&")
    } - {"points", "labels", "features", "at"}
    for name in data()["ready"]:
        assert answer(kind="open", url=f"data={name}")["url"] == f"data={name}"


@pytest.mark.parametrize(
    "url",
    ["points=1,2", "points=1,2,10", "points=1e9,2,1", "points=nan,2,1", "data=nothing", "rate=-1",
     "rate=1_000", "rounds=10.5", "start=1,2", "gamma=2", "intercept=True", "keep=__import__",
     "learner=x", "spam=1", "labels=a,a", "at=-1", "data=xor&at=x", "points=" + "1,1,1;" * 501,
     "spam=%F0%9F"],
)  # fmt: skip
def test_a_fault_in_a_url_is_one_sentence(url):
    shown = answer(kind="open", url="#" + url)
    assert shown["fault"].startswith("This URL cannot be shown. ")
    assert len(shown["fault"]) < 260
    assert "\n" not in shown["fault"]
    assert shown["scene"]["name"] == "first-steps"


#: addresses of the lab before it was one file, of every mode
EARLIER = (
    "data=five-points&start=-1,0,0&rate=0.5", "data=four-clouds&classes=ovo&keep=vote",
    "data=hours-apart&room=curve", "data=worked-line&room=line", "data=clouds&room=soft&cost=1000",
    "data=inseparable&start=1,1,1&beyond=yes&rounds=915&at=905",
    "data=moons&learner=kernel&width=100&at=120", "data=descent&room=descent&eta=0.09&at=9",
    "points=-1,0,0;2,0.5,1;0,1.5,1;0.3,-1,0&learner=margin&gamma=0.62",
)  # fmt: skip


def test_earlier_urls_open_and_sixty_points_are_short():
    assert not [one["fault"] for one in opened(*EARLIER) if "fault" in one]
    points = ";".join(f"{-k / 9:.2f},{k / 7:.2f},{k % 2}" for k in range(60))
    assert len(answer(kind="open", url=f"points={points}")["url"]) < 1000


def test_a_url_of_a_learner_that_left_shows_its_points():
    shown = answer(kind="open", url="#points=0,1,0;2,3,1&learner=arow&r=0.5&intercept=no")
    assert "arow" in shown["fault"]
    assert shown["url"] == "points=0,1,0;2,3,1&intercept=no"


def test_a_url_of_a_step_beyond_the_last_says_so():
    for url, complains in [
        ("data=inseparable&start=1,1,1&at=905", True), ("data=inseparable&start=1,1,1&at=650",
         False),
        ("data=inseparable&rounds=40&at=41", True), ("data=inseparable&room=soft&at=31", False),
        ("data=inseparable&room=descent&rounds=30&at=31", True),
    ]:  # fmt: skip
        assert bool(answer(kind="open", url=url).get("fault")) == complains


def test_damaged_urls_are_answered():
    rng = np.random.default_rng(17)
    known = ["data=xor", "data=five-points&start=-1,0,0", "data=moons&learner=kernel&width=2",
             "points=1,2,0;-1.5,0.25,1;3,1,2&labels=a,b,c&learner=winnow&keep=best&rate=0.5&at=3",
             "data=hours&room=curve"]  # fmt: skip
    letters, urls = "abzXY0123456789.,;=&-+e%#<>'\"(){}[]/\\ \n\0éλ中", []
    for _ in range(1000 if THOROUGH else 200):
        text = list(rng.choice(known))
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(text)))
            text[place : place + int(rng.integers(2))] = rng.choice(list(letters))
        urls.append("".join(text))
    shown = opened(*urls)
    faults = [one["fault"] for one in shown if "fault" in one]
    assert 0.2 * len(urls) < len(faults) < len(urls)
    assert all(len(fault) < 300 for fault in faults)
    again = opened(*(one["url"] for one in shown))
    assert [one["scene"] for one in again] == [one["scene"] for one in shown]


def loaded(text, columns=None):
    given = {"text": text} if isinstance(text, str) else {"content": list(text), "name": "own.csv"}
    return answer(kind="load", scene=scene(""), columns=columns, **given)


SPELLINGS = [
    ("a;b;k\n1,5;2,25;x\n-3;4;y\n", [[1.5, 2.25, 0], [-3, 4, 1]], "x y", "decimal comma"),
    ("a\tb\tk\n1,500\t5%\tx\n2,000\t6%\ty\n", [[1500, 5, 0], [2000, 6, 1]], "x y",
     "comma between thousands"),
    ("a;b;k\n(5);$3;x\n7;\u22124;y\n", [[-5, 3, 0], [7, -4, 1]], "x y", "currencies removed"),
    ('a;b;k\n"1.234,5";2;x\n7,25;4;y\n', [[1234.5, 2, 0], [7.25, 4, 1]], "x y",
     "point between thousands"),
    ("1;2;x\n3;4;y\n", [[1, 2, 0], [3, 4, 1]], "x y", "line 1 as a point"),
    ("1 2 10\n3 4 9\n", [[1, 2, 1], [3, 4, 0]], "9 10", "a space between columns"),
    ("a,b,k\n1,2,10\n3,4,9\n5,6,10.0\n", [[1, 2, 1], [3, 4, 0], [5, 6, 1]], "9 10", ""),
    ("a,b,k\r\n1,2,NA\r\n\r\n3,4,x\r\n", [[1, 2, 0], [3, 4, 1]], "NA x", ""),
    ('a,b,k\n1,2,"x, ""y"" z"\n', [[1, 2, 0]], 'x, "y" z', ""),
]  # fmt: skip


def test_separators_numbers_and_classes_of_own_points():
    for text, points, names, said in SPELLINGS:
        found = loaded(text, {"scale": "none"})
        assert found["scene"]["points"] == points
        assert " ".join(found["classNames"]).startswith(names)
        assert said in " ".join(found["columns"]["said"])
    for encoding in ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"):
        found = loaded("a,b,k\n1,2,Käse\n".encode(encoding))
        assert found["classNames"][0] == "Käse"
    wide = loaded("n,a,b,k\n1,2,3,x\n4,5,6,y\n", columns={"x": 2, "y": 0, "label": 3})
    assert wide["scene"]["points"] == [[3, 1, 0], [6, 4, 1]]
    assert wide["scene"]["features"] == ["b", "n"]
    scaled = loaded("a,b,k\n1,200,x\n2,400,y\n3,600,x\n")
    assert scaled["scene"]["features"] == ["a (scaled)", "b (scaled)"]
    assert scaled["scene"]["points"][0][0] == pytest.approx(-math.sqrt(1.5))
    dropped = loaded("a,b,k\n1,2,x\n,3,y\n")
    assert len(dropped["scene"]["points"]) == 1
    assert "1 row" in " ".join(dropped["columns"]["said"])
    many = loaded("a,b,k\n" + "1,2,x\n" * 600)
    assert len(many["scene"]["points"]) == 500


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no rows"), ("1,2\n", "2 columns"), ("1,2,a\n1,2\n", "line 2"),
     ("x,y,k\n1,2,a\n3,oops,b\n5,6,a\n", "'y'"),
     ("x,y,k\n1,2,a\n3e7,4,b\n", "column 'x'"),
     ("x,x,k\n1,2,a\n", "'x'"), ("x,y,k\nu,v,a\n", "numeric"), ('x,y,k\n1,2,"a\n', "line 2"),
     ("x,y,k\n" + "".join(f"1,2,c{k}\n" for k in range(11)), "11"),
     ("x,y,k\n1,2," + "a" * 41 + "\n", "41"),
     (b"x,y,k\n1,2,a\n1,2,b\0\n", "not text"), ("x" * 1_000_001, "1,000,001 bytes")],
)  # fmt: skip
def test_own_points_that_cannot_be_read(text, words):
    found = loaded(text)
    assert words in found["fault"]
    assert len(found["fault"]) < 300


def test_saved_points_come_back_to_the_bit():
    names = [name for name, one in data()["ready"].items() if one["points"]]
    shown = opened(*(f"data={name}" for name in names))
    texts = answers([{"kind": "points", "scene": one["scene"]} for one in shown])
    again = answers([{"kind": "load", "scene": one["scene"], "text": text["text"],
        "columns": {"scale": "none"}}
                     for one, text in zip(shown, texts, strict=True)])  # fmt: skip
    for one, back in zip(shown, again, strict=True):
        mine, theirs = (
            [(x, y, each["classNames"][c]) for x, y, c in each["scene"]["points"]]
            for each in (one, back)
        )
        assert [(x, y, n.lstrip("+")) for x, y, n in theirs] == [
            (x, y, n.lstrip("+")) for x, y, n in mine
        ]


def lesson(name):
    return answer(kind="lesson", name=name)["lesson"]


def test_every_step_of_a_lesson_asks_before_it_answers():
    steps = [step for name in data()["lessons"] for step in lesson(name)["steps"]]
    assert 28 <= len(steps) <= 40
    assert sum(bool(step["asked"]) for step in steps) >= 28
    shown = opened(*(step["url"] for step in steps))
    for step, one in zip(steps, shown, strict=True):
        texts = ["".join(piece for _, piece in block["pieces"]) for block in step["body"]]
        assert "?" in " ".join(texts)
        assert not re.search(r"\bred\b(?! lines)", " ".join(texts))  # points are not; residuals are
        assert step["body"][-1]["kind"] == "answer"
        assert "fault" not in one
        assert one["run"] or one["fit"]
        if step["asked"] and step["asked"]["kind"] == "choice":
            assert 0 <= step["asked"]["right"] < len(step["asked"]["choices"])


#: three classes side by side
ROW = "points=-4,0,0;-3,1,0;-3,-1,0;-1,1,1;0,-1,1;1,0,1;3,1,2;3,-1,2;4,0,2&rounds=900&classes="
#: what answers of lessons say: the address, and mistakes or updates that its run must have
SAID = [
    ("data=five-points&start=-1,0,0", "updates", 446),
    ("data=five-points&shuffle=yes", "updates", 207), ("data=five-points", "updates", 445),
    ("data=clouds", "mistakes", 2), ("data=almost&rounds=1000", "mistakes", 74),
    ("data=almost&rounds=10000", "mistakes", 94), ("data=four-clouds", "mistakes", 5),
    ("data=circles&learner=kernel&kernel=poly", "mistakes", 18),
    ("data=moons&learner=kernel&width=2", "mistakes", 9),
    ("data=xor&learner=kernel&kernel=poly&degree=2", "mistakes", 4),
    ("data=four-clouds&classes=ovr", "mistakes", 53),
    ("data=four-clouds&classes=ovo", "mistakes", 10), (ROW + "ovo", "mistakes", 7),
]  # fmt: skip


def test_answers_of_lessons_are_true():
    for (url, what, count), one in zip(SAID, opened(*(url for url, *_ in SAID)), strict=True):
        assert sum(one["run"][what]) == count, url
    assert opened(ROW + "ovr")[0]["run"]["reason"] == "cycle"
    proofs = asked(
        "proof", "data=clouds", "data=almost&rounds=1000", "data=outlier", "data=iris-hard"
    )
    rows = [one["proof"]["verdict"]["rows"] for one in proofs]
    assert (rows[0], rows[2], rows[3]) == ([4, 13, 32], [21, 23, 29, 30], [20, 76])
    assert [int(one["proof"]["bounds"][0]["value"]) for one in proofs[:2]] == [19, 81_889]
    shown = opened("data=outlier&rounds=1000")[0]
    for name, wrong in (("weights", 8), ("average", 3), ("best", 1)):
        b, w1, w2 = shown["run"][name][-3:]
        counted = sum(
            (2 * c - 1) * (b + w1 * x + w2 * y) <= 0 for x, y, c in shown["scene"]["points"]
        )
        assert counted == wrong


@pytest.mark.parametrize(
    "text",
    ["# T\n## A\n[s](#data=no)\n", "# T\n## A\n[s](#data=xor)\n\n= numbers x\n\n> A\n"],
)
def test_a_fault_in_a_lesson_is_one_sentence(text):
    (found,) = answers([{"kind": "lesson", "name": "own"}], {"own": text})
    assert 0 < len(found["fault"]) < 250


def test_requests_that_are_no_scenes_are_faults():
    wrong = (
        {"points": [[1]]},
        {"points": "x"},
        {"settings": {"spam": 1}},
        {"points": [[1, 2, 3.5]]},
    )
    found = answers(
        [{"kind": "scene", "ready": "no"}, *({"kind": "scene", "scene": s} for s in wrong)]
    )
    assert all(one["fault"] for one in found)


def test_the_band_of_a_margin_perceptron_ends_where_margins_are_the_aim():
    for *w, aim, one in ((1, -1.04, 2.08, 0.2, 1), (0, 1, 1, 0.25, 0)):
        band = f"module_geometry.tooClose([-5, -4, 6, 4], {w}, {aim}, {one})"
        (ends,) = run_javascript(f"{joined('page/geometry')}console.log(JSON.stringify({band}))")
        Z = np.column_stack([np.full(len(ends), one), ends])
        margins = Z @ w / np.linalg.norm(Z, axis=1) / np.linalg.norm(w)
        assert margins == pytest.approx(np.repeat([aim, -aim], len(ends) // 2))


def test_numbers_have_three_digits():
    for value, text in [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-31, "−31"), (1.10811, "1.11"), (0.980316, "0.98"),
        (2 / 3, "0.667"), (999.7, "1000"), (1234.56, "1235"), (999999.4, "999999"),
        (999999.7, "1 × 10⁶"), (1.29112e120, "1.29 × 10¹²⁰"), (-1.29112e120, "−1.29 × 10¹²⁰"),
        (0.000123, "0.000123"), (0.0000123456, "1.23 × 10⁻⁵"), (1.125, "1.13"), (-1.125, "−1.13"),
    ]:  # fmt: skip
        said = (
            f"console.log(JSON.stringify(module_numbers.minus(module_numbers.short({value!r}))));"
        )
        assert run_javascript(joined("engine/numbers") + said) == [text]
