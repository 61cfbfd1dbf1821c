"""Reports words of pages, docstrings, comments and messages that an editor would strike out, and
placeholders in the messages of errors that nothing fills: ``words.py FILE...``, as pre-commit does.
"""

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

BE = r"\b(?:is|are|was|were|be)"
NOT_THERE = r"(?<!there )(?<!There )"
PER = (
    r"\b(?:numbers?|value|label|weight|file|line|score|bytes?|ms|s|µs|one|times|rows?|columns?|text"
    r"|step|update|mark|entry|array|vector|sign|curve|panel|point) an? (?:row|column|task|class"
    r"|format|pass|line|feature|file|fold|worker|request|second|minute|number|value|pair|step|batch"
    r"|point|document|text|shard|word|example)\b"
)
#: what not to write, and what to write
HABITS = {
    rf"{NOT_THERE}{BE} no (?!longer|more|less|better|worse|doubt|need)\w+": "is not a, or has no",
    r"\b(?:that|those) of\b": "the noun again",
    rf"{NOT_THERE}{BE} none\b": "the noun again",
    PER: "per, or each",
    rf"{BE} told\b|\btells?\b": "report, warn, show",
    r"\b(?:takes?|taken|took) (?:it |them |this |each )?for\b": "treat as, impute, replace by",
    r"\bto the bit\b|\b(?:the )?same bits\b": "bit-identical",
    r"\b(?:goes|go|going|went) on\b": "continue, resume",
    r"\bbest made with\b": "create it with",
    r"\bwhole or not at all\b": "atomically",
    r"\bbeyond (?:floating|double|float)\w*": "overflows float64",
    r"\bon the clock\b|\bprocessor (?:seconds|minutes|time)\b": "wall time, CPU time",
    r"[0-9}] %(?=[\s,.;:)\"'|`]|$)": "95%, without a space",
    r"\blearned models?\b": "trained model",
    r"\b[Cc]ommonest\b": "most frequent",
    r"\breflected (?:rows?|points?|examples?)\b": "sign-flipped row",
    r"\bbrings? (?:its|more|two|one|a|the|no|your|of)\b": "pass, set, provide, have",
    r"\bfaults? of linsep\b": "a bug in linsep",
    r"\b(?:is|are) learned from\b": "is used for training",
    r"\bnothing is said\b|\bwithout a word\b": "no message",
    r"\bcounts? as\b": "is treated as",
}
ANY_HABIT = re.compile("|".join(HABITS))


def prose(text, suffix):
    """Yield the lines that people read, with their numbers: no code."""
    if suffix in {".py", ".pyi"}:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                yield from enumerate(token.string.split("\n"), token.start[0])
        return
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if suffix == ".md" and line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, line


def habits(text, suffix):
    """Return what to change in a file: the number of a line, its words, and what to write."""
    return [
        (number, found[0], better)
        for number, line in prose(text, suffix)
        if ANY_HABIT.search(line)
        for habit, better in HABITS.items()
        for found in re.finditer(habit, line)
    ]


def unfilled(text):
    """Return the parts of messages of raised errors in which braces still hold a name."""
    return [
        part.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Raise)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        # BadRow fills in its feature later
        if re.search(r"\{(?!feature\})[a-z_][^{}]*\}", part.value, re.IGNORECASE)
    ]


def main(paths):
    """Print what to change in these files; return how much it is."""
    found = []
    for path in map(Path, paths):
        text = path.read_text("utf-8")
        found += [
            f"{path}:{number}: {words!r}: write {better}"
            for number, words, better in habits(text, path.suffix)
        ]
        if path.suffix == ".py":
            found += [f"{path}: {part!r} has a name in braces" for part in unfilled(text)]
    print("\n".join(found), end="\n" * bool(found))
    return len(found)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
