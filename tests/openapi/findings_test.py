# SPDX-License-Identifier: Apache-2.0
"""The comparison with the document refuses what is not in it."""

import json
import pathlib
import types
import unittest

from fuzz import Document, Finding

DOCUMENT = {
    "paths": {"/x": {"get": {"operationId": "showX", "responses": {
        "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/X"}}}},
        "204": {"description": "Nothing."},
        "404": {"$ref": "#/components/responses/Missing"}}}}},
    "components": {
        "schemas": {"X": {"type": "object", "properties": {"n": {"type": "integer"}},
                          "required": ["n"]}},
        "responses": {"Missing": {"content": {"application/json": {
            "schema": {"type": "object", "required": ["error"]}}}}}},
}


def answer(status, value, kind="application/json"):
    text = "" if value is None else json.dumps(value)
    return types.SimpleNamespace(
        status=status, text=text, json=value, fields={"content-type": kind} if text else {})


class Findings(unittest.TestCase):
    def setUp(self):
        self.document = Document(DOCUMENT)
        self.operation = self.document.operations[0][2]

    def check(self, *words):
        self.document.check(self.operation, answer(*words))

    def test_documented_answers_pass(self):
        self.check(200, {"n": 1})
        self.check(204, None)
        self.check(404, {"error": "x"})

    def test_other_statuses_and_shapes_are_found(self):
        for words, wanted in (
                ((201, {"n": 1}), "status 201 is not documented"),
                ((500, {"error": "x"}), "an error of the server"),
                ((501, {"error": "x"}), "an error of the server"),
                ((200, {"n": "1"}), "shape: n: "),
                ((200, {}), "shape: : 'n' is a required property"),
                ((200, {"n": 1, "more": True}), "shape: .*'more' was unexpected"),
                ((404, {}), "shape: "),
                ((204, {"n": 1}), "a body, where none"),
                ((200, {"n": 1}, "text/html"), "content of type 'text/html'")):
            with self.assertRaisesRegex(Finding, wanted):
                self.check(*words)


class ShippedDocument(unittest.TestCase):
    def test_each_operation_with_a_token_documents_unknown_parameters(self):
        file = (pathlib.Path(__file__).parents[2]
                / "libcodeq" / "src" / "http" / "routes" / "openapi.json")
        for method, path, operation in Document(json.loads(file.read_text())).operations:
            if "401" in operation["responses"]:
                self.assertIn("400", operation["responses"], f"{method} {path}")


if __name__ == "__main__":
    unittest.main()
