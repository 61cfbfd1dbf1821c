"""The endpoints of a server, their bodies and answers, and the OpenAPI document.

Each endpoint is declared once, as an :class:`Endpoint`, which both the server and the document use.
"""

from collections.abc import Awaitable, Callable
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, get_args, get_type_hints

import linsep
from linsep.serving.learning import LONGEST_ID
from linsep.serving.limits import Limits
from linsep.serving.model import Served, Wanted
from linsep.serving.requests import JSON
from linsep.serving.rows import PairReader
from linsep.words import size_text

#: columns that are described one by one
MOST_COLUMNS = 500
#: schemas of the kinds of columns
KINDS = {"number": "number", "bool": "boolean", "text": "string"}
ERRORS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    403: "This server does not learn.",
    409: "The ID already belongs to a different row.",
    413: "The body or its rows exceed a limit.",
    415: "The media type is not supported.",
    422: "The rows are not valid for the model.",
    503: "The server is overloaded; try again.",
}

Schema = dict[str, Any]


def _lists(**items: Schema) -> Schema:
    """Return the schema of an object of lists."""
    lists = {name: {"type": "array", "items": schema} for name, schema in items.items()}
    return {"type": "object", "properties": lists}


def _needed(schema: Schema) -> Schema:
    return schema | {"required": list(schema["properties"])}


#: a row as the model reads it, and one of its classes, or a number: as the model describes them
ROW, LABEL, ERROR = ({"$ref": f"#/components/schemas/{name}"} for name in ("Row", "Label", "Error"))
ID = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
ROWS_TO_PREDICT = _needed(_lists(rows=ROW))
ROWS_TO_LEARN = _needed(_lists(ids=ID, rows=ROW, labels=LABEL))
PREDICTIONS = _lists(
    predictions=LABEL, scores={}, probabilities={}, explanations={"type": "object"}, classes={}
)
LEARNED_ROWS: Schema = {
    "type": "object",
    "properties": {
        name: {"type": "integer", "description": what}
        for name, what in (
            ("learned", "number of new rows, which were learned"),
            ("duplicates", "number of rows sent again, which had been learned before"),
            ("rows", "number of rows in the log"),
        )
    },
}
REFUSAL = {
    "type": "object",
    "properties": {
        "error": {"type": "string"}, "code": {"type": "string"}, "row": {"type": "integer"},
        "column": {},
    },
    "required": ["error", "code"],
}  # fmt: skip
OBJECT, TEXT = {"type": "object"}, {"type": "string"}


class Endpoint(NamedTuple):
    """One endpoint.

    Attributes
    ----------
    path, method : path and HTTP method of the requests
    make : handler, called with the scope and the function that receives the body
    summary : for the document, which leaves out endpoints without a summary
    body, answer : schemas of the body and of the answer
    kind : media type of the answer
    errors : statuses of refusals
    needs_token : False for endpoints that return no information about the model
    """

    path: str
    method: str
    make: Callable[[dict[str, Any], Any], Awaitable[Any]]
    summary: str = ""
    body: Schema | None = None
    answer: Schema = OBJECT
    kind: bytes = JSON
    errors: tuple[int, ...] = ()
    needs_token: bool = True

    def described(self, served: Served) -> dict[str, Any]:
        """Return the endpoint as an OpenAPI operation."""
        kind = self.kind.partition(b";")[0].decode()
        answer = {"description": "The answer.", "content": {kind: {"schema": self.answer}}}
        errors = (401, *self.errors) if self.needs_token else self.errors
        found: dict[str, Any] = {
            "summary": self.summary,
            "responses": {"200": answer} | {str(code): _error(code) for code in sorted(errors)},
        }
        if not self.needs_token:
            found["security"] = []
        if self.body is ROWS_TO_PREDICT:
            found["parameters"] = _questions()
        if self.body is not None:
            found["requestBody"] = {"required": True, "content": _bodies(served, self.body)}
        return found


def document(endpoints: list[Endpoint], served: Served, limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document for a model."""
    about = served.about()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"linsep serve: {about['learner']}",
            "version": about["version"],
            "summary": f"linsep {linsep.__version__}",
            "description": (
                f"Limits per request: {size_text(limits.body)}, {limits.rows:,} rows and "
                f"{max(limits.features, about['features']):,} features. An error is a JSON object "
                "with a message in the field `error` and its kind in `code`."
            ),
        },
        "paths": {
            each.path: {each.method.lower(): each.described(served)}
            for each in endpoints
            if each.summary
        },
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Row": _row(served),
                "Label": {"enum": about["classes"]} if about["classes"] else {"type": "number"},
                "Error": REFUSAL,
            },
        },
    }


@cache
def page() -> bytes:
    """Return the HTML page, which loads no external files and contains nothing about the model."""
    return files("linsep.serving").joinpath("page.html").read_bytes()


def example_row(served: Served) -> Any:
    """Return an example row of the model."""
    if served.reader is None:
        return "| some words"
    if isinstance(served.reader, PairReader):
        return {str(served.reader.base): 1.0}
    columns, row = served.reader.columns, {}
    for name, kind in served.reader.kinds.items():
        center = columns.scale.get(name, [0.5])[0]
        known = next(iter(columns.features_of(name) if name in columns.text else ()), "some words")
        if name in columns.converted and kind == "text":
            format = columns.converted[name].partition("=")[2]
            known = date(2024, 1, 31).strftime(format or "%Y-%m-%d")
        row[name] = {"number": float(f"{center:.3g}"), "bool": True, "text": known}[kind]
        if columns.formula is not None and (level := columns.formula.example(name)) is not None:
            row[name] = level
    return row if served.file_recipe is not None else list(row.values())


def _row(served: Served) -> dict[str, Any]:
    """Return the schema of a row, which depends on the model."""
    example = {"example": example_row(served)}
    if served.reader is None:
        return {"type": "string", "description": "A line of Vowpal Wabbit text."} | example
    if isinstance(served.reader, PairReader):
        return example | {
            "description": (
                f"An object of values by feature index, from {served.reader.base}; or a list of "
                "all values; or a line of svmlight text."
            ),
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "number"}},
                {"type": "array", "items": {"type": "number"}},
                {"type": "string"},
            ],
        }
    kinds = list(served.reader.kinds.items())
    as_list = {"type": "array", "minItems": len(kinds), "maxItems": len(kinds), "items": {}}
    if served.file_recipe is None:
        return as_list | {"items": {"type": "number"}} | example
    known = {name: {"type": KINDS[kind]} for name, kind in kinds[:MOST_COLUMNS]}
    return example | {
        "description": "An object of values by column name, or a list in the order of the columns.",
        "anyOf": [{"type": "object", "properties": known}, as_list],
    }


def _questions() -> list[dict[str, Any]]:
    """Return the query parameters of an endpoint."""
    hints = get_type_hints(Wanted, include_extras=True)
    return [
        {
            "name": name,
            "in": "query",
            "description": get_args(kind)[1],
            "schema": {"type": "boolean", "default": False}
            if get_args(kind)[0] is bool
            else {"enum": list(get_args(get_args(kind)[0])), "default": "error"},
        }
        for name, kind in hints.items()
    ]


def _bodies(served: Served, body: Any) -> dict[str, Any]:
    """Return the media types of a body with their schemas."""
    example = {"rows": [example_row(served)]}
    if body is ROWS_TO_LEARN:
        example |= {"ids": ["first"], "labels": served.labels[:1] or ["a label"]}
    found: dict[str, Any] = {JSON.decode(): {"schema": body, "example": example}}
    if body is ROWS_TO_PREDICT and served.text is not None:
        found["text/plain"] = {"schema": {"type": "string"}}
    elif body is ROWS_TO_PREDICT and served.file_recipe is not None:
        for kind in ("text/csv", "application/jsonl"):
            found[kind] = {"schema": {"type": "string"}}
        found["application/vnd.apache.arrow.stream"] = {"schema": {}}
    return found


def _error(code: int) -> dict[str, Any]:
    return {"description": ERRORS[code], "content": {JSON.decode(): {"schema": ERROR}}}
