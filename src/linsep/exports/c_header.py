"""Models as C headers, for C99 and C++."""

import re
from typing import Any

import linsep
from linsep.estimators._common.checking import label_text
from linsep.exports.scoring import ExportError, Rule, Scoring, kind_of, read_scoring

#: words that are no names in C or C++, and macros of the headers that are included
RESERVED = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class compl concept const const_cast consteval constexpr constinit continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires restrict return
short signed sizeof static static_assert static_cast struct switch template this thread_local
throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void
volatile wchar_t while xor xor_eq linux unix
NULL offsetof NAN SNAN SNANF SNANL INFINITY HUGE HUGE_VAL HUGE_VALF HUGE_VALL MAXFLOAT
MATH_ERRNO MATH_ERREXCEPT math_errhandling DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS
FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL FP_ILOGB0 FP_ILOGBNAN FP_LLOGB0 FP_LLOGBNAN
FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_INT_UPWARD FP_INT_DOWNWARD FP_INT_TOWARDZERO
FP_INT_TONEAREST FP_INT_TONEARESTFROMZERO fpclassify iscanonical iseqsig isfinite isgreater
isgreaterequal isinf isless islessequal islessgreater isnan isnormal issignaling issubnormal
isunordered iszero signbit strdupa strndupa
BIG_ENDIAN BYTE_ORDER EXIT_FAILURE EXIT_SUCCESS FD_SETSIZE LITTLE_ENDIAN MB_CUR_MAX NFDBITS
PDP_ENDIAN RAND_MAX WCONTINUED WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED
"""
#: macros of <math.h> for each type of floats
TYPED = re.compile(
    r"(M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)|HUGE_VAL_|SNAN)"
    r"(l|f\d*x?|F\d+X?)?"
)

HEAD = """/* {about}
   {meaning}
   {rows}
   {predict} */
#ifndef {guard}_H
#define {guard}_H

#include <math.h>
#include <stddef.h>
#include <string.h>

"""
NUMBERS = """
/* Writes {n} score{s} to scores; returns 0 if a value is missing where the model takes none,
   or infinite, else 1. */
static inline int {name}_scores({row}, double *scores)
{{
    static const double intercepts[{n}] = {{{intercepts}}};
{tables}    double found[{n}] = {{0.0}};{squares}
    size_t j, k;
{values}    for (j = 0; j < {width}; j++) {{
        {scaled} x = ({real}) values[j];
        if (isnan(x))
            x = ({real}) missing[j];
        if (!isfinite(x))
            return 0;
        x = (x - subtract[j]) / divide[j];{square}
        for (k = 0; k < {n}; k++)
            found[k] += weights[j][k] * (double) x;
    }}
"""
TEXT = """    {{
        static const char *const known[] = {{{known}}};
        static const double own[][{n}] = {{{weights}}};
        const char *text = row->{field};{missing}
        for (j = 0; text && j < {many}; j++)
            if (strcmp(text, known[j]) == 0) {{{count}
                for (k = 0; k < {n}; k++)
                    found[k] += own[j][k];
                break;
            }}
    }}
"""
SQUARES = "\n    double squares = 0.0, small = 0.0, large = 0.0, length;"
#: sums of squares of values times a power of 2, for rows whose own squares underflow or overflow
SQUARE = """
        squares += (double) x * (double) x;
        small += ((double) x * {up}) * ((double) x * {up});
        large += ((double) x * {down}) * ((double) x * {down});"""
LENGTH = """    length = squares < 1e280 ? sqrt(squares) : sqrt(large) * {up};
    if (!(squares > 1e-280))
        length = small > 0.0 ? sqrt(small) * {down} : 1.0;
"""
POWERS = {"up": repr(2.0**700), "down": repr(2.0**-700)}
RESULT = """    for (k = 0; k < {n}; k++)
        scores[k] = found[k]{scale} + intercepts[k];
    return 1;
}}
"""
NUMBER = """
/* Returns the prediction for a row, NAN if {name}_scores returns 0. */
static inline double {name}_predict({row})
{{
    double score;
    return {name}_scores(row, &score) ? score : NAN;
}}
"""
LABELS = """
/* Returns the label of a class, {none} for any other number, such as -1. */
static inline {kind}{name}_label(int number)
{{
    static {kind}const labels[{k}] = {{{labels}}};
    return number < 0 || number >= {k} ? {nothing} : labels[number];
}}

/* Returns the number of the class of a row, -1 if {name}_scores returns 0. */
static inline int {name}_predict({row})
{{
    double scores[{n}];
    if (!{name}_scores(row, scores))
        return -1;
{body}}}
"""
SIGN = "    return scores[0] {above} 0.0;\n"
LARGEST = """    int best = 0, k;
    for (k = 1; k < {k}; k++)
        if (scores[k] {above} scores[best])
            best = k;
    return best;
"""
PAIRS = """    static const int pairs[{n}][2] = {{{pairs}}};
    int wins[{k}] = {{0}}, best = 0, k;
    double sums[{k}] = {{0.0}};
    for (k = 0; k < {n}; k++) {{
        wins[pairs[k][scores[k] {above} 0.0]]++;
        sums[pairs[k][1]] += scores[k];
        sums[pairs[k][0]] -= scores[k];
    }}
    for (k = 1; k < {k}; k++)
        if (wins[k] > wins[best] || (wins[k] == wins[best] && sums[k] {above} sums[best]))
            best = k;
    return best;
"""
PROBABILITIES = """
/* Writes the probabilities of the {k} classes; returns 0 if {name}_scores does. */
static inline int {name}_probabilities({row}, double *probabilities)
{{
    double scores[{k}] = {{0.0}}, largest, sum = 0.0;
    int k;
    if (!{name}_scores(row, scores{first}))
        return 0;
    largest = scores[0];
    for (k = 1; k < {k}; k++)
        if (scores[k] > largest)
            largest = scores[k];
    for (k = 0; k < {k}; k++)
        sum += probabilities[k] = exp(scores[k] - largest);
    for (k = 0; k < {k}; k++)
        probabilities[k] /= sum;
    return 1;
}}
"""


def as_c(model: Any, stem: str) -> str:
    """Return a C header whose functions begin with ``stem``, the name of the file."""
    scoring, kind = read_scoring(model), kind_of(model)
    _check(scoring)
    rule, columns = scoring.rule, scoring.columns
    name, n = identifier(stem), len(scoring.coef)
    table = columns.kind == "table"
    row = f"const {name}_row *row" if table else "const double *row"
    rows = {
        "table": f"A row is a struct {name}_row; NAN and NULL are missing values.",
        "array": f"A row is an array of {columns.width} numbers.",
        "svmlight": f"A row is an array of {columns.width} features, the first of them number "
        f"{columns.numeric[0].name if columns.numeric else 0}; NAN is zero.",
    }
    predict = f"{name}_predict returns the prediction"
    predict += f", {name}_label its label." if rule.classes else "."
    parts = [
        HEAD.format(
            about=comment(f"{kind} of linsep {linsep.__version__}"),
            meaning=comment(rule.sentence()),
            rows=rows[columns.kind],
            predict=predict,
            guard=name.upper(),
        )
    ]
    fields = field_names([str(column.name) for column in columns.numeric] + list(columns.text))
    if table:
        parts.append(_struct(scoring, name, fields))
    common = {"name": name, "row": row, "n": n}
    parts.append(_scores(scoring, common, fields, table))
    if not rule.classes:
        parts.append(NUMBER.format(**common))
    else:
        parts.append(_labels(rule, common))
    if rule.probabilities:
        first = " + 1" if rule.name == "sign" else ""
        parts.append(PROBABILITIES.format(**common, k=len(rule.classes), first=first))
    return "".join(parts) + "\n#endif\n"


def _check(scoring: Scoring) -> None:
    texts = [value for known in scoring.columns.text.values() for value in known]
    for text in (*texts, *(label for label in scoring.rule.classes if isinstance(label, str))):
        if "\0" in text:
            raise ExportError(f"C cannot hold {text!r:.80}, which has a NUL character: rename it.")
    if not scoring.columns.width:
        raise ExportError("A model without features cannot be exported.")


def _struct(scoring: Scoring, name: str, fields: list[str]) -> str:
    columns = scoring.columns
    numbers, texts = fields[: len(columns.numeric)], fields[len(columns.numeric) :]
    lines = [
        f"    double {own};{_noted(own, str(column.name))}\n"
        for own, column in zip(numbers, columns.numeric, strict=True)
    ]
    lines += [
        f"    const char *{own};{_noted(own, column)}\n"
        for own, column in zip(texts, columns.text, strict=True)
    ]
    return f"typedef struct {name}_row {{\n{''.join(lines)}}} {name}_row;\n"


def _noted(own: str, name: str) -> str:
    return "" if own == name else f" /* {comment(name)} */"


def _scores(scoring: Scoring, common: dict[str, Any], fields: list[str], table: bool) -> str:
    """Return the function that computes the scores."""
    rule, columns, n = scoring.rule, scoring.columns, common["n"]
    coef, numeric = scoring.coef.T.tolist(), columns.numeric
    real = scaled = "float" if columns.single else "double"
    if all(column.divide is None for column in numeric):
        scaled = "double"  # a centre may have more digits than the values
    squares = SQUARES if rule.normalize else ""
    parts = []
    if numeric:
        fill = ["NAN" if c.fill is None else number(c.fill) for c in numeric]
        subtract = [number(c.subtract) for c in numeric]
        divide = [number(1.0 if c.divide is None else c.divide) for c in numeric]
        values = [f"row->{own}" for own in fields[: len(numeric)]]
        tables = (
            f"    static const {scaled} missing[] = {{{listed(fill)}}};\n"
            f"    static const {scaled} subtract[] = {{{listed(subtract)}}};\n"
            f"    static const {scaled} divide[] = {{{listed(divide)}}};\n"
            f"    static const double weights[][{n}] = {{{weights(coef[: len(numeric)])}}};\n"
        )
        parts.append(
            NUMBERS.format(
                **common,
                s="" if n == 1 else "s",
                intercepts=listed(map(number, scoring.intercept.tolist())),
                tables=tables,
                squares=squares,
                values=f"    const double values[] = {{{listed(values)}}};\n"
                if table
                else "    const double *values = row;\n",
                width=len(numeric),
                real=real,
                scaled=scaled,
                square=SQUARE.format(**POWERS) if rule.normalize else "",
            )
        )
    else:
        whole = NUMBERS[: NUMBERS.index("{values}")].format(
            **common, s="" if n == 1 else "s", tables="", squares=squares,
            intercepts=listed(map(number, scoring.intercept.tolist())),
        )  # fmt: skip
        parts.append(whole)
    for own, known in zip(fields[len(numeric) :], columns.text.values(), strict=True):
        parts.append(
            TEXT.format(
                field=own, n=n, many=len(known), known=listed(map(string, known)) or "NULL",
                weights=weights([coef[j] for j in known.values()]) or "{0.0}",
                missing="" if columns.fill_text else "\n        if (!text)\n            return 0;",
                count="\n                squares += 1.0;" if rule.normalize else "",
            )
        )  # fmt: skip
    scale = ""
    if rule.normalize:
        scale = " * (1.0 / length)"
        parts.append(LENGTH.format(**POWERS))
    return "".join(parts) + RESULT.format(n=n, scale=scale)


def _labels(rule: Rule, common: dict[str, Any]) -> str:
    """Return the functions that return a class and its label."""
    k, above = len(rule.classes), ">=" if rule.ties_high else ">"
    if rule.name == "sign":
        body = SIGN.format(above=above)
    elif rule.name == "largest":
        body = LARGEST.format(k=k, above=above)
    else:
        pairs = listed(f"{{{a}, {b}}}" for a, b in rule.pairs)
        body = PAIRS.format(k=k, n=len(rule.pairs), above=above, pairs=pairs)
    whole = all(isinstance(label, int) and abs(label) < 2**63 for label in rule.classes)
    if whole:
        kind, labels = "long long ", [f"{int(label)}LL" for label in rule.classes]
        none, nothing = "LLONG_MIN", f"-{2**63 - 1}LL - 1"
    else:
        kind, labels = "const char *", [string(label_text(label)) for label in rule.classes]
        none = nothing = "NULL"
    return LABELS.format(
        **common, k=k, kind=kind, labels=listed(labels), body=body, none=none, nothing=nothing
    )


def identifier(name: str) -> str:
    """Return a name as C allows it: other characters become underscores."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "model"
    return f"x{found}" if found[0].isdigit() else found


def field_names(names: list[str]) -> list[str]:
    """Return a different C name for each column: its own if C allows that."""
    taken = set(names)
    found = []
    for name in names:
        own = identifier(name)
        while (own in taken and own != name) or own in RESERVED.split() or TYPED.fullmatch(own):
            own += "_"
        taken.add(own)
        found.append(own)
    return found


def number(value: float) -> str:
    """Return a float64 with all its digits."""
    return repr(float(value))


def string(text: str) -> str:
    """Return text as a C string of UTF-8, with everything but plain ASCII as octal escapes."""
    return '"' + "".join(_escaped(byte) for byte in text.encode()) + '"'


def _escaped(byte: int) -> str:
    plain = 32 <= byte < 127 and chr(byte) not in '"\\?'  # ? could begin a trigraph
    return chr(byte) if plain else f"\\{byte:03o}"


def comment(text: str) -> str:
    """Return text that cannot end a comment, nor a line of one."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    for bad, good in (("\\", "/"), ("*/", "* /"), ("/*", "/ *"), ("??", "? ?"), ("??", "? ?")):
        plain = plain.replace(bad, good)
    return plain


def weights(rows: list[list[float]]) -> str:
    """Return rows of weights as an initializer."""
    return listed(f"{{{', '.join(map(number, row))}}}" for row in rows)


def listed(items: Any) -> str:
    """Return items with commas, some on a line."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) > 80:
            lines.append(line.rstrip())
            line = ""
        line += f"{item}, "
    return "\n        ".join([*lines, line.rstrip(", ")])
