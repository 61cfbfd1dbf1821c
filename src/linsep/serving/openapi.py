"""The OpenAPI document of a server, and the page that shows it."""

from functools import cache
from importlib.resources import files
from typing import Any

import linsep
from linsep.serving.limits import Limits
from linsep.serving.model import Served
from linsep.serving.rows import PairReader
from linsep.sources.limits import size_text

#: columns that are described one by one
MOST_COLUMNS = 500
SCHEMES = {"token": {"type": "http", "scheme": "bearer"}}
KINDS = {"number": "number", "bool": "boolean", "text": "string"}
ERRORS = {
    "400": "The body is not JSON.",
    "401": "The token is missing or wrong.",
    "413": "The body or its rows are beyond a limit.",
    "415": "The body has a type that cannot be read.",
    "422": "The rows do not fit the model.",
    "503": "The server has too much to do; try again.",
}


@cache
def page() -> bytes:
    """Return the page in HTML, which needs nothing from elsewhere and says nothing of the model."""
    return files("linsep.serving").joinpath("page.html").read_bytes()


def document(served: Served, limits: Limits, learns: bool) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document for a model."""
    about = served.about()
    paths = {
        "/predict": {"post": _predict(served)},
        "/learn": {"post": _learn(served, learns)},
        "/model": {"get": _get("The model: its version, learner, classes and columns.", "object")},
        "/model/file": {
            "get": _get("The model as it is now, as a file.", "string", "application/octet-stream")
        },
        "/health": {"get": _get("Whether the server answers.", "object", open=True)},
        "/metrics": {"get": _get("Counts for Prometheus.", "string", "text/plain")},
        "/openapi.json": {"get": _get("This document.", "object")},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"linsep serve: {about['learner']}",
            "version": about["version"],
            "summary": f"linsep {linsep.__version__}",
            "description": (
                f"A request may have {size_text(limits.body)}, {limits.rows:,} rows and "
                f"{max(limits.features, about['features']):,} features. Errors are one sentence."
            ),
        },
        "paths": paths,
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": SCHEMES,
            "schemas": {
                "Row": _row(served),
                "Label": {"enum": about["classes"]} if about["classes"] else {"type": "number"},
                "Error": {
                    "type": "object", "required": ["error"],
                    "properties": {"error": {"type": "string"}},
                },
            },
        },
    }  # fmt: skip


def example_row(served: Served) -> Any:
    """Return a row as the model reads it."""
    if served.reader is None:
        return "| some words"
    if isinstance(served.reader, PairReader):
        return {str(served.reader.base): 1.0}
    columns, row = served.reader.columns, {}
    for name, kind in served.reader.kinds.items():
        centre = columns.scale.get(name, [0.5])[0]
        known = next(iter(columns.text.get(name, ())), "some words")
        row[name] = {"number": float(f"{centre:.3g}"), "bool": True, "text": known}[kind]
    return row if served.file_recipe is not None else list(row.values())


def _row(served: Served) -> dict[str, Any]:
    """Return the schema of a row."""
    example = {"example": example_row(served)}
    if served.reader is None:
        return {"type": "string", "description": "A line of Vowpal Wabbit's text."} | example
    if isinstance(served.reader, PairReader):
        first = served.reader.base
        return {
            "description": f"Values by index of the feature, from {first}; or a list of all "
            "values; or a line of svmlight text.",
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "number"}},
                {"type": "array", "items": {"type": "number"}},
                {"type": "string"},
            ],
        } | example  # fmt: skip
    kinds = list(served.reader.kinds.items())
    as_list = {"type": "array", "minItems": len(kinds), "maxItems": len(kinds), "items": {}}
    if served.file_recipe is None:
        return as_list | {"items": {"type": "number"}} | example
    known = {name: {"type": KINDS[kind]} for name, kind in kinds[:MOST_COLUMNS]}
    return {
        "description": "Values by name of the column, or a list in the order of the columns.",
        "anyOf": [{"type": "object", "properties": known}, as_list],
    } | example


def _predict(served: Served) -> dict[str, Any]:
    questions = {
        "scores": "The score of each class; of two classes one, positive for the second.",
        "probabilities": "The probability of each class, if the model has them.",
        "explanations": "Each feature's value, weight and their product, the largest first.",
    }
    rows = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Row"}}
    body = {"type": "object", "required": ["rows"], "properties": {"rows": rows}}
    content: dict[str, Any] = {
        "application/json": {"schema": body, "example": {"rows": [example_row(served)]}}
    }
    if served.text is not None:
        content["text/plain"] = {"schema": {"type": "string"}}
    elif served.file_recipe is not None:
        for kind in ("text/csv", "application/jsonl"):
            content[kind] = {"schema": {"type": "string"}}
        content["application/vnd.apache.arrow.stream"] = {"schema": {}}
    answer = {
        "predictions": {"type": "array", "items": {"$ref": "#/components/schemas/Label"}},
        "scores": {"type": "array"},
        "probabilities": {"type": "array"},
        "explanations": {"type": "array", "items": {"type": "object"}},
        "classes": {"type": "array"},
        "unknown_values": {"type": "object"},
    }
    return {
        "summary": "Predict rows.",
        "parameters": [
            {
                "name": name, "in": "query", "description": text,
                "schema": {"type": "boolean", "default": False},
            }
            for name, text in questions.items()
        ],
        "requestBody": {"required": True, "content": content},
        "responses": _responses(answer, "400", "401", "413", "415", "422", "503"),
    }  # fmt: skip


def _learn(served: Served, learns: bool) -> dict[str, Any]:
    label = "a label" if not served.labels else served.labels[0]
    fields = {
        "ids": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 200}},
        "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
        "labels": {"type": "array", "items": {"$ref": "#/components/schemas/Label"}},
    }
    off = "" if learns else " This server does not learn: it was started without --log."
    body = {"type": "object", "required": list(fields), "properties": fields}
    example = {"ids": ["first"], "rows": [example_row(served)], "labels": [label]}
    answer = {
        "learnt": {"type": "integer", "description": "rows that are new"},
        "known": {"type": "integer", "description": "rows that were learnt before"},
        "rows": {"type": "integer", "description": "rows of the log"},
    }
    found = _responses(answer, "400", "401", "413", "415", "422", "503")
    found["403"] = _failed("This server does not learn.")
    found["409"] = _failed("An id is that of another row.")
    return {
        "summary": "Learn labelled rows in order; an id makes it safe to send a row again." + off,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": body, "example": example}},
        },
        "responses": found,
    }


def _get(
    summary: str, kind: str, type: str = "application/json", open: bool = False
) -> dict[str, Any]:
    answer = {"description": summary, "content": {type: {"schema": {"type": kind}}}}
    found: dict[str, Any] = {"summary": summary, "responses": {"200": answer}}
    if open:
        return found | {"security": []}
    found["responses"]["401"] = _failed(ERRORS["401"])
    return found


def _responses(answer: dict[str, Any], *errors: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object", "properties": answer}}}
    found: dict[str, Any] = {"200": {"description": "The answer.", "content": content}}
    return found | {status: _failed(ERRORS[status]) for status in errors}


def _failed(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
