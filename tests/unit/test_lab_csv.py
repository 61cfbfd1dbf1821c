"""Points of the lab from CSV, and the lab as a folder of files: the same points and answers."""

import base64
import io
import json
import subprocess
import sys
import zipfile
from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given, settings, strategies as st

import linsep
from linsep.errors import DataError, LinsepError
from linsep.lab import static
from linsep.lab.certificate import certified
from linsep.lab.numbers import three_digits
from linsep.lab.own_points import (
    MISSING,
    MOST_BYTES,
    READING,
    Own,
    own_of,
    plain_scene_of_csv,
    points_csv,
)
from linsep.lab.scene import MOST_CLASSES, Scene
from linsep.lab.scene_sources import READY, ready_made
from linsep.lab.table_scene import scene_of_csv
from linsep.sources.tables.conversions import NULL_VALUES
from refusals import refused
from same_answers import differences, messages
from thoroughness import THOROUGH

READERS = {"server": scene_of_csv, "static": plain_scene_of_csv}
both_readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


def own(text, chosen=None, **reading):
    content = text if isinstance(text, bytes) else text.encode()
    return Own(content, "own.csv", chosen or {}, reading)


@both_readers
def test_two_columns_of_numbers_and_a_class(read):
    text = 'name;length;width;kind\n"A";1.5;2;old\n"B";-3;1e1;new\n'
    scene, columns = read(own(text), Scene())
    assert columns[:5] == (("name", "length", "width", "kind"), (1, 2), 1, 2, 3)
    assert columns.said == ("Read with: semicolon between columns.",)
    assert scene.points == ((1.5, 2.0, 1), (-3.0, 10.0, 0))
    assert (scene.labels, scene.features) == (("new", "old"), ("length", "width"))
    again = "length,width,class\n1.5,2,old\n-3,10,new\n"
    assert read(own(again), Scene())[0] == scene
    numbers, columns = read(own("1 2 10\n3 4 9\n"), Scene())
    assert numbers.points == ((1.0, 2.0, 1), (3.0, 4.0, 0))
    assert columns.said == ("Read with: a space between columns, line 1 as a point.",)


#: text, points, class names, and words of what is said of it
SPELLINGS = [
    ("a;b;k\n1,5;2,25;x\n-3;4;y\n", [(1.5, 2.25, 0), (-3, 4, 1)], "x y", "decimal comma"),
    ("a\tb\tk\n1,500\t5%\tx\n2,000\t6%\ty\n", [(1500, 5, 0), (2000, 6, 1)], "x y",
     "comma between thousands"),
    ("a;b;k\n(5);$3;x\n7;\u22124;y\n", [(-5, 3, 0), (7, -4, 1)], "x y", "currencies removed"),
    ('a;b;k\n"1.234,5";2;x\n7,25;4;y\n', [(1234.5, 2, 0), (7.25, 4, 1)], "x y",
     "point between thousands"),
    ("1;2;x\n3;4;y\n", [(1, 2, 0), (3, 4, 1)], "x y", "line 1 as a point"),
    ("a,b,k\n1,2,10\n3,4,9\n5,6,10.0\n", [(1, 2, 1), (3, 4, 0), (5, 6, 1)], "9 10", ""),
    ("a,b,k\r\n1,2,NA\r\n\r\n3,4,x\r\n", [(1, 2, 0), (3, 4, 1)], "NA x", ""),
    ('a,b,k\n1,2,"x, ""y"" z"\n', [(1, 2, 0)], 'x, "y" z', ""),
    ("a,b,k\n1,2,Käse\n".encode("latin-1"), [(1, 2, 0)], "Käse", "encoding "),
    ("a,b,k\n1,2,50 €\n".encode("cp1252"), [(1, 2, 0)], "50 €", "encoding Windows-1252"),
    ("a,b,k\n1,2,Käse\n".encode("utf-16"), [(1, 2, 0)], "Käse", "encoding UTF-16"),
]  # fmt: skip


@both_readers
def test_encodings_separators_numbers_and_classes(read):
    for text, points, names, said in SPELLINGS:
        scene, columns = read(own(text, scale="none"), Scene())
        assert scene.points == tuple(points)
        assert " ".join(scene.class_names).startswith(names)
        assert said in " ".join(columns.said)
        assert bool(said) == bool(columns.said)


@both_readers
def test_what_cannot_be_read_is_one_sentence(read):
    for text, code in [
        ("", "no-rows"),
        ("1,2\n", "no-columns"),
        ("1,2,a\n1,2\n", "field-count"),
        ("x,y,k\n1,2,a\n3,oops,b\n5,6,a\n", "not-a-number"),
        ("x,y,k\n1,2,a\n3,,b\n", "missing-value"),
        ("x,y,k\n1,2,a\ninf,4,b\n", "not-a-number"),
        ("x,y,k\n1,2,a\n3e7,4,b\n", "out-of-range"),
        ("x,x,k\n1,2,a\n", "duplicate-name"),
        ("x,y,k\nu,v,a\n", "no-columns"),
        ("x,y,k\n" + "".join(f"1,2,c{k}\n" for k in range(11)), "class-count"),
        ("x,y,k\n1,2," + "a" * 41 + "\n", "bad-value"),
        ('x,y,k\n1,2,"a\n', "bad-line"),
        ("x,y,k\n1,2,a\n1,2,b\u0000\n", "encoding"),
    ]:
        with refused(DataError, code) as caught:
            read(own(text), Scene())
        assert "\n" not in str(caught.value)
        assert "/tmp" not in str(caught.value)
        assert len(str(caught.value)) < 300


CELLS = st.one_of(
    st.floats(-1e6, 1e6).map(repr), st.integers(-999_999, 999_999).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.sampled_from(["", "x", "NA", "1e3", "-0", "007"]),
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["a", "b", "é", "1", "2", "a b"])),
                  min_size=1, max_size=8),
    mark=st.sampled_from([",", ";", "\t"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    end=st.sampled_from(["\n", "\r\n"]),
    missing=st.sampled_from(["error", "drop"]),
)  # fmt: skip
def test_both_readers_give_the_same_points(rows, mark, encoding, end, missing):
    """What both read is the same; what one refuses, the other refuses, too."""
    lines = ["x,y,class".replace(",", mark), *(mark.join(row) for row in rows)]
    given = own((end.join(lines) + end).encode(encoding), missing=missing)
    found = []
    for read in READERS.values():
        try:
            found.append(read(given, Scene())[0])
        except DataError as problem:
            found.append(str(problem))
    if not any(isinstance(one, str) for one in found):
        assert found[0] == found[1]
    else:
        assert all(isinstance(one, str) for one in found), found


def exported_again(scene, read):
    text, _ = points_csv(scene)
    return read(own(text, scale="none"), scene)


@both_readers
def test_points_that_the_lab_saves_come_back_to_the_bit(read):
    for name in [name for name in READY if ready_made(name).points]:
        scene = ready_made(name)
        again, columns = exported_again(scene, read)
        named, before = ([(x, y, one.class_names[code]) for x, y, code in one.points]
                         for one in (again, scene))  # fmt: skip
        assert named == before
        assert again.features == scene.features
        assert columns.said == ()
        if list(scene.class_names) == sorted(scene.class_names):
            assert again.points == scene.points


def test_what_the_page_sends():
    assert own_of({"text": "a\ud800"}).content == b"a\xed\xa0\x80"
    sent = base64.b64encode(b"x,y,k\n").decode()
    assert own_of({"file": sent, "name": "C:\\here\\my.csv"})[:2] == (b"x,y,k\n", "my.csv")
    assert own_of({"file": sent, "name": "../../x\u202e.csv"}).name == "x_u202e.csv"
    assert own_of({"file": sent}).name == "points.csv"
    with refused(DataError, "too-large"):
        own_of({"name": "a.csv", "size": 5_000_000})
    with refused(DataError, "too-large"):
        own_of({"text": "x" * (MOST_BYTES + 1)})
    for odd in ({"file": "?"}, {}, {"text": "", "reading": {"quotes": "no"}},
                {"text": "", "reading": {"decimal": ["."]}}, {"file": 3}):  # fmt: skip
        with refused(DataError, "bad-request"):
            own_of(odd)
    assert set(NULL_VALUES) - {""} == MISSING
    assert MOST_CLASSES == 10
    assert set(READING) < {*linsep.open_source.__kwdefaults__}


FOREIGN = "numpy", "scipy", "sklearn", "numba", "rich", "pyarrow", "flint", "click", "panel"
ANSWERS = f"""
import json, sys
sys.modules.update(dict.fromkeys({FOREIGN!r}))  # importing None is an ImportError
sys.path.insert(0, sys.argv[1])
from linsep.lab.answer import answer
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line)), allow_nan=False))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The folder of what runs in a browser."""
    folder = tmp_path_factory.mktemp("sources")
    zipfile.ZipFile(io.BytesIO(static.zipped())).extractall(folder)
    return folder


def asked(sources, *questions):
    """What the sources answer in a process without other packages."""
    lines = "".join(json.dumps(one) + "\n" for one in questions)
    done = subprocess.run(
        [sys.executable, "-I", "-c", ANSWERS, str(sources)], input=lines, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_200_scenes_have_the_answers_of_the_server(sources):
    """The same modules without numpy; in a browser they meet another Python, and another libm."""
    known = messages(200 if THOROUGH else 60, most=120)
    answers = asked(sources, *(question for _, question in known))
    faults = [
        (question["scene"]["settings"]["learner"], question["kind"], found[:3])
        for (_, question), answer in zip(known, answers, strict=True)
        if (found := differences(True, question, answer))
    ]
    assert faults == []


def test_the_folder_is_complete_small_and_names_its_licenses(tmp_path):
    pytest.importorskip("linsep_pyodide")
    size = static.write_static(tmp_path, ready_made("xor"))
    assert size == sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file())
    assert size <= 15_000_000
    licenses = (tmp_path / "licenses" / "README.md").read_text("utf-8")
    for name in ("Mozilla Public License 2.0", "Python Software Foundation", "MIT", "BSD-3-Clause"):
        assert name in licenses
    assert "http" not in (tmp_path / "worker.js").read_text("utf-8")
    page = (tmp_path / "index.html").read_text("utf-8")
    assert '"name":"xor"' in page


def test_without_pyodide_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(static, "find_spec", lambda name: None)
    with refused(LinsepError, "missing-package"):
        static.write_static(tmp_path, ready_made("xor"))
    assert list(tmp_path.iterdir()) == []


def test_proofs_are_read_by_both_checkers(tmp_path):
    for name in ["five-points", "xor", "inseparable", "iris-easy", "outlier"]:
        import linsep

        found = certified(ready_made(name))
        (tmp_path / "proof.json").write_text(found["proof"])
        (tmp_path / "points.csv").write_text(found["points"])
        done = subprocess.run(
            [sys.executable, "-m", "linsep.check", "proof.json", "points.csv", "--target", "class"],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.stdout == found["said"] + "\n"
        source = linsep.open_source(tmp_path / "points.csv", target="class")
        assert linsep.from_json(found["proof"]).verify(source).holds


RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def read(text):
    """The number that a text spells."""
    head, _, power = text.translate(RAISED).partition(" × 10")
    return Decimal(head) * Decimal(10) ** int(power or 0)


def test_numbers():
    for value, text in [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-31, "−31"),
        (1.10811, "1.11"),
        (0.980316, "0.98"),
        (2 / 3, "0.667"),
        (98.7147, "98.7"),
        (999.7, "1000"),
        (1234.56, "1235"),
        (123456.0, "123456"),
        (999999.4, "999999"),
        (999999.7, "1 × 10⁶"),
        (1e6, "1 × 10⁶"),
        (1.29112e120, "1.29 × 10¹²⁰"),
        (-1.29112e120, "−1.29 × 10¹²⁰"),
        (0.000123, "0.000123"),
        (0.0000999951, "0.0001"),
        (0.0000123456, "1.23 × 10⁻⁵"),
        (5e-324, "4.94 × 10⁻³²⁴"),
        (1.125, "1.13"),
        (-1.125, "−1.13"),
        (inf, "∞"),
        (-inf, "−∞"),
        (nan, "?"),
    ]:
        assert three_digits(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_text_is_nowhere_more_than_half_a_unit_of_its_third_digit_away(value):
    text = three_digits(value)
    exact, shown = Decimal(value), read(text)
    assert "e" not in text
    assert len(text) <= 14
    unit = Decimal(10) ** (exact.adjusted() - 2) if value else 0
    if 100 <= abs(value) < 1e6:  # digits before the point are never rounded away
        unit = Decimal(1)
    assert abs(shown - exact) <= unit / 2
