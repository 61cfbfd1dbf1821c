"""Tables as Markdown and LaTeX, and the numbers in them."""

import re
from collections.abc import Sequence

from linsep.words import escaped

LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
    # At the start of a line LaTeX would read it as an argument of the preceding line break.
    "[": "{[}", "]": "{]}",
} | {c: "\\" + c for c in "{}$&#%_"}  # fmt: skip


def short_number(value: float) -> str:
    """Return a number with up to six digits, 1 rather than 1.0."""
    return _whole(value) or f"{value:.6g}"


def exact_number(value: float) -> str:
    """Return a number in full precision, 1 rather than 1.0."""
    return _whole(value) or repr(value)


def _whole(value: float) -> str:
    """Return an integer of at most 15 digits without a decimal point, else an empty string."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else ""


def markdown_table(lines: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> str:
    """Return lines of cells, the headings first, as a Markdown table."""
    head, *others = ([escaped_markdown(text) for text in line] for line in lines)
    rule = ["--:" if right else ":--" for right in to_the_right]
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, rule, *others))


def latex_table(lines: Sequence[Sequence[str]], to_the_right: Sequence[bool], rule: str) -> str:
    """Return lines of cells, the headings first, as a LaTeX tabular.

    ``rule`` is placed around the headings and below the last line, such as a horizontal line.
    """
    head, *others = (" & ".join(map(escaped_latex, line)) + r" \\" for line in lines)
    kinds = "".join("r" if right else "l" for right in to_the_right)
    rules = [rule] * bool(rule)
    body = [*rules, head, *rules, *others, *rules]
    return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", *body, r"\end{tabular}"]) + "\n"


def escaped_markdown(text: str) -> str:
    """Escape Markdown markup."""
    return re.sub(r"([\\|`*_<>\[\]~$&#])", r"\\\1", escaped(text))


def escaped_latex(text: str) -> str:
    """Escape LaTeX commands."""
    return "".join(LATEX.get(c, c) for c in escaped(text))
