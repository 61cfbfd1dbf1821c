"""The endpoints of a server, their bodies and answers, and the OpenAPI document.

Each endpoint is declared once, as an :class:`Endpoint`, which both the server and the document use.
"""

from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from typing import Any, NamedTuple

import linsep
from linsep.serving.learning import LONGEST_ID
from linsep.serving.model import Served
from linsep.serving.requests import JSON, QUERY
from linsep.words import size_text

#: loads no external files and contains nothing about the model
PAGE = files("linsep.serving").joinpath("page.html").read_bytes()

Schema = dict[str, Any]
OBJECT, TEXT, INTEGER = {"type": "object"}, {"type": "string"}, {"type": "integer"}


def _object(required: Iterable[str] = (), **properties: Schema) -> Schema:
    return OBJECT | {"properties": properties, "required": [*required]}


def _lists(**items: Schema) -> dict[str, Schema]:
    return {name: {"type": "array", "items": schema} for name, schema in items.items()}


#: a row as the model reads it, and one of its classes, or a number: as the model describes them
ROW, LABEL, ERROR = ({"$ref": f"#/components/schemas/{name}"} for name in ("Row", "Label", "Error"))
ID = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
ROWS_TO_PREDICT = _object(["rows"], **_lists(rows=ROW))
ROWS_TO_LEARN = _object(["ids", "rows", "labels"], **_lists(ids=ID, rows=ROW, labels=LABEL))
PREDICTIONS = _object(
    **_lists(predictions=LABEL, scores={}, probabilities={}, explanations=OBJECT, classes={})
)
LEARNED_ROWS = _object(learned=INTEGER, duplicates=INTEGER, rows=INTEGER)
REFUSAL = _object(["error", "code"], error=TEXT, code=TEXT, row=INTEGER, column={})


class Endpoint(NamedTuple):
    """One endpoint: its handler, which returns the content, or awaits it and the model that made
    it; a summary, without which the document leaves it out; schemas of the body and of the answer,
    the media type of that, and whether it returns information about the model.
    """

    path: str
    method: str
    make: Callable[[dict[str, Any], Any], bytes | Awaitable[tuple[bytes, Served | None]]]
    summary: str = ""
    body: Schema | None = None
    answer: Schema = OBJECT
    kind: bytes = JSON
    needs_token: bool = True

    def described(self, served: Served) -> dict[str, Any]:
        """Return the endpoint as an OpenAPI operation."""
        kind = self.kind.partition(b";")[0].decode()
        found: dict[str, Any] = {
            "summary": self.summary,
            "responses": {
                "200": _answer("The answer.", kind, self.answer),
                "default": _answer("An error.", JSON.decode(), ERROR),
            },
        }
        if not self.needs_token:
            found["security"] = []
        if self.body is not None:
            labels = served.labels or [0.0]
            values = {"rows": served.reader.example(), "ids": "first", "labels": labels[0]}
            example = {name: [values[name]] for name in self.body["required"]}
            content = {JSON.decode(): {"schema": self.body, "example": example}}
            found["requestBody"] = {"required": True, "content": content}
        if self.body is ROWS_TO_PREDICT:
            content |= {kind.decode(): {"schema": {}} for kind in served.reader.formats}
            found["parameters"] = [
                {"name": name, "in": "query", "description": what,
                 "schema": {"enum": [*filter(None, values)]}}
                for name, (values, what) in QUERY.items()
            ]  # fmt: skip
        return found


def document(endpoints: Iterable[Endpoint], served: Served) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document for a model."""
    about, limits = served.about(), served.limits
    paths = {e.path: {e.method.lower(): e.described(served)} for e in endpoints if e.summary}
    schemas = {
        "Row": served.reader.schema() | {"example": served.reader.example()},
        "Label": {"enum": about["classes"]} if about["classes"] else {"type": "number"},
        "Error": REFUSAL,
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"linsep serve: {about['learner']}",
            "version": about["version"],
            "summary": f"linsep {linsep.__version__}",
            "description": f"Limits per request: {size_text(limits.body)}, {limits.rows:,} rows. "
                           "An error has a message in `error` and its kind in `code`.",
        },
        "paths": paths,
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": schemas
        },
    }  # fmt: skip


def _answer(what: str, kind: str, schema: Schema) -> Schema:
    return {"description": what, "content": {kind: {"schema": schema}}}
