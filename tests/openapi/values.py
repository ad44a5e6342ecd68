# SPDX-License-Identifier: Apache-2.0
"""Makes values of JSON schemas, and values that do not fit them."""

from hypothesis import strategies as st

# Texts of each pattern; all patterns of the document have to be here.
_PATTERNS = {
    "^[A-Za-z0-9._-]{1,128}$": ["mail", "q", "GENERATE_MASTER", "a.b-c_d", "x" * 128],
    "^[0-9]+(ms|s|m|h|d)$": ["90s", "2m", "1h", "0s", "500ms", "1d"],
}
_TIMES = ["2026-05-20T10:00:00Z", "2026-05-20T10:00:00.123456789Z", "2031-01-01T00:00:00+02:00"]
_URLS = ["https://hooks.invalid/x"] * 4 + ["http://127.0.0.1:1/", "ftp://a.invalid/", "x"]
# Values of fields that would make the server wait, or that depend on the world outside.
_BY_NAME = {
    "waitSeconds": st.sampled_from([-5, 0, 0, 0, 1]),
    "rate": st.sampled_from([0, 1000, 1000000]),
    "callbackUrl": st.sampled_from(_URLS),
    "webhook": st.sampled_from(_URLS),
    "key": st.sampled_from(["k", "order-7", "ä"]),
    # Any other text is refused.
    "fencingToken": st.sampled_from(["", "", "", "1", "x"]),
    "idempotencyKey": st.sampled_from(["k", "order-7", "ä"]),
}
_TEXTS = st.text(max_size=20)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2**70, 2**70) | st.floats(allow_nan=False,
                                                                         allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6)


def _integers(schema):
    least, most = schema.get("minimum", -2**63), schema.get("maximum", 2**63 - 1)
    edges = st.sampled_from([least, most, max(least, min(most, 1)), max(least, min(most, 60))])
    return edges | st.integers(least, most)


def _strings(schema):
    if "pattern" in schema:
        return st.sampled_from(_PATTERNS[schema["pattern"]])
    if schema.get("format") == "date-time":
        return st.sampled_from(_TIMES)
    least = schema.get("minLength", 0)
    return st.text(min_size=least, max_size=min(schema.get("maxLength", 20), 20))


def _objects(schema, ids):
    fields = {name: of_schema(one, ids, name)
              for name, one in schema.get("properties", {}).items()}
    needed = list(schema.get("required", ()))
    # A task needs a queue, under one of its two names.
    needed += ["command"] if "payload" in needed else []
    required = {name: fields.pop(name) for name in needed}
    if "additionalProperties" in schema and schema["additionalProperties"] is not False:
        return st.dictionaries(_TEXTS, of_schema(schema["additionalProperties"], ids), max_size=3)
    # A few of the optional ones, since two names of one field are refused.
    names = st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True) if fields \
        else st.just([])
    optional = names.flatmap(
        lambda chosen: st.fixed_dictionaries({name: fields[name] for name in chosen}))
    return st.builds(lambda a, b: {**a, **b}, st.fixed_dictionaries(required), optional)


def of_schema(schema, ids, name=""):
    """Values that fit the schema; `ids` makes ids of tasks."""
    if name == "taskId":
        return ids
    if name == "ids":
        return st.lists(ids, max_size=3)
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "integer":
        return _integers(schema)
    if kind == "string":
        return _strings(schema)
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(of_schema(schema["items"], ids), min_size=schema.get("minItems", 0),
                        max_size=3)
    if kind == "object":
        return _objects(schema, ids)
    return ANY_JSON


def spoiled(schema, ids):
    """Bodies that most likely do not fit: a field is another value, one too many, or missing."""
    names = sorted(schema.get("properties", ())) or ["x"]

    def spoil(value, name, other, how):
        if how == "missing":
            value.pop(name, None)
        elif how == "unknown":
            value[name + "s"] = other
        else:
            value[name] = other
        return value

    return st.builds(spoil, of_schema(schema, ids).map(lambda v: dict(v or {})),
                     st.sampled_from(names), ANY_JSON,
                     st.sampled_from(["other", "other", "missing", "unknown"]))
