"""Compares docs/api.md with the OpenAPI document, or writes it if INSTA_UPDATE is `always`.

Arguments: the document, and the page.
"""

import json
import os
import sys
from pathlib import Path

document = json.loads(Path(sys.argv[1]).read_text())
components = document["components"]
METHODS = ("get", "put", "post", "delete")
TEXTS = ("Field", "Flag", "OptionalField", "Text", "Value")
PREFIX = "/_matrix/client/v3"

INTRODUCTION = """# API reference

<!-- Generated from server/openapi/: INSTA_UPDATE=always cargo test --workspace --test it -- openapi:: -->

The endpoints with their tokens, and the fields that they accept and return. A server describes the same API, with
the meaning of every status, as OpenAPI 3.1 at `GET /openapi.json`: import it into an API client, or generate a
client from it.
"""

SCOPES = """
## Scopes

An app declares its scopes when it registers, and requests some of them from a user. Users can grant all scopes
except those that begin with `admin:`, which only admins can grant. An app token can have the scopes that its
app declared, except `admin:` scopes; most endpoints need a user's token.
`belfry token issue NAME --scopes …` issues a token with any scopes that the account may grant.

A scope includes those that begin with it: `read` includes `read:accounts`. If an endpoint has several scopes,
one of them is enough.
"""


def line(text):
    """Returns text for one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def link(reference):
    name = reference.rsplit("/", 1)[1]
    return f"[{name}](#{name.lower()})"


def value(constant):
    return f"`{json.dumps(constant)}`" if not isinstance(constant, str) else f"`{constant}`" if constant else "empty"


def kind(schema):
    """Describes the type of a schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return kind(components["schemas"][name]) if name in TEXTS else link(schema["$ref"])
    if "const" in schema:
        return value(schema["const"])
    if "enum" in schema:
        return ", ".join(map(value, schema["enum"]))
    for key in ("anyOf", "allOf"):
        if key in schema:
            return " or ".join(map(kind, schema[key]))
    names = schema.get("type", "any")
    if names == "array":
        return f"array of {kind(schema['items'])}"
    if names == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind(schema['additionalProperties'])}"
    return names if isinstance(names, str) else " or ".join(names)


def fields(schema, indent=""):
    """Lists the fields of an object, with those of objects in them."""
    lines = []
    for name, field in schema.get("properties", {}).items():
        required = ", required" if name in schema.get("required", ()) else ""
        description = line(field.get("description", ""))
        lines.append(f"{indent}- `{name}` ({kind(field)}{required}){': ' if description else ''}{description}")
        lines += fields(field.get("items", field) if "properties" not in field else field, indent + "  ")
    return lines


def describe_schema(name, schema):
    lines = [f"\n### {name}\n"]
    if "description" in schema:
        lines += [line(schema["description"]), ""]
    parts = schema.get("anyOf", schema.get("allOf", ())) if "properties" not in schema else ()
    for part in parts:
        lines.append(f"- {line(part.get('description', kind(part)))}")
        lines += fields(part, "  ")
    listed = fields(schema)
    if not parts and not listed:
        lines.append(f"Type: {kind(schema)}")
    return lines + listed


def content(body):
    """Describes the content of a body or a response."""
    schemas = {}
    for media_type, media in body.get("content", {}).items():
        name = kind(media["schema"]) if "json" in media_type or "form" in media_type else f"`{media_type}`"
        schemas[name] = None
    return " or ".join(schemas)


def access(operation):
    """Describes the token or the credentials that a request needs."""
    scopes, others = [], []
    for requirement in operation.get("security", ()):
        for scheme, required in requirement.items():
            # A wider scope follows the scopes that it includes.
            scopes += [f"`{scope}`" for scope in required if not scopes or scopes == ["`profile`"]]
            if scheme == "oauth2" and not required:
                others.append("any token")
            others += {"applicationService": ["application service"], "client": ["client"]}.get(scheme, [])
    return ", ".join(scopes + others) or "none"


def describe_area(tag):
    lines = [f"\n## {tag['name']}\n", tag["description"].rstrip(), ""]
    lines += ["| endpoint | effect | token | body | response |", "|---|---|---|---|---|"]
    for path, item in document["paths"].items():
        if "/device/{profile_tag}/" in path:
            continue
        for method, operation in item.items():
            if method not in METHODS or operation["tags"] != [tag["name"]]:
                continue
            parameters = item.get("parameters", []) + operation.get("parameters", [])
            queries = [f"`{p['name']}`" for p in parameters if p["in"] == "query" and p["name"] != "user_id"]
            effect = [operation["summary"] + "." + (f" Query: {', '.join(queries)}." if queries else "")]
            effect.append(operation.get("description", ""))
            success = operation["responses"].get("200", {})
            if "$ref" in success:
                success = components["responses"][success["$ref"].rsplit("/", 1)[1]]
            cells = [f"`{method.upper()} {path.replace(PREFIX, '…')}`", line(" ".join(effect)), access(operation)]
            cells += [content(operation.get("requestBody", {})), content(success)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def render():
    lines = [INTRODUCTION, document["info"]["description"].rstrip(), "", f"In the tables, `…` stands for `{PREFIX}`."]
    lines += ["", "## Tokens", ""]
    for name, scheme in components["securitySchemes"].items():
        lines.append(f"- `{name}`: {line(scheme['description'])}")
    lines.append(SCOPES)
    scopes = components["securitySchemes"]["oauth2"]["flows"]["authorizationCode"]["scopes"]
    used = json.dumps([item for item in document["paths"].values()])
    lines += [f"- `{name}`: {text}." for name, text in scopes.items() if f'"{name}"' in used]
    unused = [f"`{name}`" for name in scopes if f'"{name}"' not in used]
    lines.append("\nNo endpoint here needs the other scopes, which are for servers behind the [gateway check](gateway.md):")
    lines.append(f"{', '.join(unused)}.")
    for tag in document["tags"]:
        lines += describe_area(tag)
    lines.append("\n## Schemas")
    for name, schema in sorted(components["schemas"].items()):
        lines += describe_schema(name, schema)
    return "\n".join(lines) + "\n"


page = Path(sys.argv[2])
if os.environ.get("INSTA_UPDATE") == "always":
    page.write_text(render())
assert page.read_text() == render(), "docs/api.md differs from server/openapi/; repeat the test with INSTA_UPDATE=always"
