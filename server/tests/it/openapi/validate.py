"""Validates the OpenAPI document, and the recorded responses against it.

Arguments: the document, and the directory with the recorded responses.
"""

import json
import re
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

document = json.loads(Path(sys.argv[1]).read_text())
validate(document)

# Pages are not described.
PAGES = re.compile(" /oauth/(authorize|sign_)")


def find_item(path):
    """Returns the path item of a path. A path item without parameters has precedence."""
    path = re.sub("^/_service/", "/_matrix/", path)
    path = re.sub("^/_matrix/client/(api/v1|r0|v3)/", "/_matrix/client/v3/", path)
    path = path.replace("/client/v3/versions", "/client/versions")
    for template, item in sorted(document["paths"].items(), key=lambda pair: "{" in pair[0]):
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path):
            return item
    return None


def find_error(response):
    """Returns the first error in the status, the media type or the body, or None."""
    method, target = response["request"].split(" ")
    item = find_item(target.split("?")[0])
    if item is None:
        return None if response["status"] in (400, 404, 429) else "the path is not described"
    operation = item.get(method.lower())
    if operation is None:
        return None if response["status"] in (204, 400, 405) else "the method is not described"
    reference = operation["responses"].get(str(response["status"]))
    if reference is None:
        return f"status {response['status']} is not described"
    described = reference
    if "$ref" in reference:
        described = document["components"]["responses"][reference["$ref"].rsplit("/", 1)[1]]
    content = described.get("content")
    media = response["headers"].get("content-type", "").split(";")[0]
    if not content or not media:
        return None if not content and not media else f"content type {media!r} is not described"
    if media not in content:
        return f"content type {media!r} is not described"
    if media == "application/json":
        schema = {"components": document["components"], "allOf": [content[media]["schema"]]}
        errors = [error.message for error in Draft202012Validator(schema).iter_errors(response["body"])]
        return errors[0] if errors else None
    return None


count = 0
failures = []
for file in sorted(Path(sys.argv[2]).glob("*.snap")):
    recorded = json.loads(file.read_text().split("---\n", 2)[2])
    for response in recorded if isinstance(recorded, list) else [recorded]:
        if "request" in response and not PAGES.search(response["request"]):
            count += 1
            if error := find_error(response):
                failures.append(f"{file.name}: {response.get('case', '')}: {response['request']}: {error}")
assert count > 100, count
assert not failures, "\n".join(failures)
