"""Adjusts generated requests where a schema cannot express what the server accepts."""

import re

import schemathesis

# Control characters, without NUL, because the server rejects NUL everywhere.
CONTROL = re.compile("[\\x01-\\x1f\\x7f]")


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Permits the values that the server converts to text or to a flag, so that they are not taken for invalid data."""
    schemas = raw_schema["components"]["schemas"]
    for name in ["Field", "Value"]:
        schemas[name]["type"] = ["string", "number", "boolean"]
    for name in ["OptionalField", "Flag"]:
        schemas[name] |= {"type": ["string", "number", "boolean", "null"], "pattern": "^[^\\u0000]*$"}


@schemathesis.hook
def map_body(context, body):
    """Writes whole numbers without a fraction, and field names without control characters.

    In JSON Schema, 5.0 is an integer. In Matrix's JSON, which has no floating-point numbers, it is not.
    The field names of a multipart form cannot contain control characters.
    """
    return adjust(body)


def adjust(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [adjust(item) for item in value]
    if isinstance(value, dict):
        return {CONTROL.sub("", name): adjust(item) for name, item in value.items()}
    return value


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """Omits names of more than 255 bytes, which a schema cannot exclude because it counts characters."""
    return not path_parameters or all(
        len(value.encode()) <= 255 for value in path_parameters.values() if isinstance(value, str)
    )
