#!/usr/bin/env python3
"""Checks recorded requests and answers against an OpenAPI 3.1 document.

usage: openapi_judge.py DOCUMENT EXCHANGES

Prints a line for each violation: a status, header, media type or body that the document does not
declare, an accepted request that it does not declare, and a declared request that was refused as
malformed. Exits with 0 if the document itself is valid and there is no violation.
"""

import json
import re
import sys

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

BASE = "urn:coffer:openapi"
# Headers that any answer may have.
USUAL_HEADERS = {"connection", "content-length", "content-type", "date", "x-request-id"}
UPLOAD_HEADERS = (
    "RateLimit", "RateLimit-Policy", "Cache-Control", "Tus-Resumable", "Upload-Complete",
    "Upload-Draft-Interop-Version", "Upload-Expires", "Upload-Incomplete", "Upload-Length",
    "Upload-Limit", "Upload-Offset",
)
# Every answer of a public link has these, by the names of their descriptions.
LINK_HEADERS = {
    "Cache-Control": "CacheControl", "Content-Security-Policy": "LinkSecurityPolicy",
    "X-Content-Type-Options": "LinkTypeOptions", "Content-Disposition": "LinkDisposition",
    "Cross-Origin-Resource-Policy": "LinkResourcePolicy", "Referrer-Policy": "LinkReferrerPolicy",
    "Access-Control-Allow-Origin": "LinkOrigin", "Access-Control-Expose-Headers": "LinkExposed",
}

# Problem codes of requests that are well-formed but refused.
UNDERSTOOD = {
    "account_not_found", "batch_refused", "file_exists", "key_registered", "too_many_keys",
    "updates_required", "username_taken", "version_changed",
}
# Operations whose statements must meet conditions that no schema can express.
STATING = {"addDevice", "revokeDevice", "setLogShare", "nameRecoveryKey", "askRecovery", "offerKeyPackages"}
# A rule about the sender of a request, which no schema can express either.
SENDER = "must be the key that makes the request"
MALFORMED = {"body_invalid", "limit_invalid", "malformed_precondition", "query_invalid"}


class Judge:
    def __init__(self, document):
        self.document = document
        resource = Resource.from_contents(document, default_specification=DRAFT202012)
        self.registry = Registry().with_resource(BASE, resource)

    def resolve(self, value):
        while "$ref" in value:
            place = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                place = place[part.replace("~1", "/").replace("~0", "~")]
            value = place
        return value

    def errors(self, schema, value):
        """Yields the most relevant error of a value, by a schema that may refer to the document's others."""
        validator = Draft202012Validator(
            self.absolute(schema),
            registry=self.registry,
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        )
        error = best_match(validator.iter_errors(value))
        if error:
            yield f"{error.json_path}: {error.message[:200]}"

    def absolute(self, schema):
        if isinstance(schema, list):
            return [self.absolute(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        return {
            name: BASE + value if name == "$ref" else self.absolute(value)
            for name, value in schema.items()
        }

    def operation(self, method, path):
        """The template, item and operation that match a request. Literal segments win."""
        segments = path.split("/")
        matches = []
        for template, item in self.document["paths"].items():
            parts = template.split("/")
            if len(parts) == len(segments) and all(
                part == segment or part.startswith("{") and segment
                for part, segment in zip(parts, segments)
            ):
                matches.append((sum(part.startswith("{") for part in parts), template, item))
        if not matches:
            return None, {}, None
        _, template, item = min(matches, key=lambda match: match[0])
        name = "get" if method == "HEAD" and "head" not in item else method.lower()
        return template, item, item.get(name)

    def judge(self, exchange):
        path, _, query = exchange["target"].partition("?")
        template, item, operation = self.operation(exchange["method"], path)
        status = exchange["status"]
        responses = self.document["components"]["responses"]
        if template is None:
            declared = {"404": responses["NoSuchPath"]}
        elif operation is None:
            declared = {"405": responses["NoSuchMethod"]}
        else:
            declared = operation["responses"]
        # A request that is not valid HTTP never reaches a path.
        if operation is None and status in (400, 417, 431):
            return
        if str(status) not in declared:
            yield f"status {status} is not declared"
            return
        response = self.resolve(declared[str(status)])
        yield from self.judge_headers(exchange, response, operation)
        yield from self.judge_body(exchange, response)
        if operation is None:
            return
        code = self.code(exchange)
        wrong = list(self.judge_request(exchange, item, operation, query))
        if status < 400 or code in UNDERSTOOD:
            yield from wrong
        elif code in MALFORMED and not wrong and not self.is_beyond_schemas(exchange, operation):
            yield f"{code}, though the document allows the request"

    def is_beyond_schemas(self, exchange, operation):
        errors = exchange["body"].get("errors", [])
        return operation["operationId"] in STATING or any(e["rule"] == SENDER for e in errors)

    def code(self, exchange):
        body = exchange["body"]
        kind = body.get("type") if isinstance(body, dict) else None
        return str(kind).removeprefix("urn:coffer:problem:")

    @staticmethod
    def value(text):
        """An integer if the text is one in JSON syntax, otherwise the text."""
        return int(text) if re.fullmatch("-?(0|[1-9][0-9]*)", text) else text

    def judge_headers(self, exchange, response, operation):
        headers = {name.lower(): value for name, value in exchange["headers"]}
        declared = dict(response.get("headers", {}))
        if operation and operation.get("security", self.document["security"]):
            # These are on every answer to an authenticated caller, so the document declares them once.
            for name in ("RateLimit", "RateLimit-Policy", "Cache-Control"):
                declared[name] = self.document["components"]["headers"][name]
        if operation and "Uploads" in operation.get("tags", []):
            # The tag declares these for every answer.
            for name in UPLOAD_HEADERS:
                declared[name] = self.document["components"]["headers"][name]
        if operation and operation["operationId"] in ("readPublished", "askPublished"):
            for name, described in LINK_HEADERS.items():
                declared[name] = self.document["components"]["headers"][described]
        declared = {name.lower(): self.resolve(header) for name, header in declared.items()}
        for name in headers.keys() - declared.keys() - USUAL_HEADERS:
            yield f"header {name} is not declared"
        for name, header in declared.items():
            if name in headers:
                for error in self.errors(header["schema"], headers[name]):
                    yield f"header {name}: {error}"
            elif header.get("required"):
                yield f"header {name} is missing"

    def judge_body(self, exchange, response):
        headers = {name.lower(): value for name, value in exchange["headers"]}
        content = response.get("content")
        if exchange["method"] == "HEAD":
            return
        if content is None:
            if exchange["byte_count"] > 0:
                yield "a body is not declared"
            return
        # OpenAPI cannot say that an answer has a body or none.
        if response.get("x-body-optional") and exchange["byte_count"] == 0:
            return
        media = headers.get("content-type")
        if media not in content:
            yield f"media type {media} is not declared"
        elif "json" in media:
            for error in self.errors(content[media]["schema"], exchange["body"]):
                yield f"body: {error}"

    def judge_request(self, exchange, item, operation, query):
        parameters = [
            self.resolve(each)
            for each in item.get("parameters", []) + operation.get("parameters", [])
        ]
        declared = {each["name"]: each for each in parameters if each["in"] == "query"}
        pairs = [part.partition("=")[::2] for part in query.split("&") if part]
        for name, value in pairs:
            if name not in declared:
                yield f"parameter {name} is not declared"
            elif sum(name == other for other, _ in pairs) > 1:
                yield f"parameter {name} occurs twice"
            else:
                schema = declared[name]["schema"]
                # A text may consist of digits.
                is_text = self.resolve(schema).get("type") == "string"
                for error in self.errors(schema, value if is_text else self.value(value)):
                    yield f"parameter {name}: {error}"
        if "x-exactly-one-of" in operation:
            if sum(name in operation["x-exactly-one-of"] for name, _ in pairs) != 1:
                yield "not exactly one of the mutually exclusive parameters"
        sent = {name.lower(): value for name, value in exchange["request_headers"]}
        for each in parameters:
            if each["in"] != "header":
                continue
            value = sent.get(each["name"].lower())
            if value is not None:
                for error in self.errors(each["schema"], value):
                    yield f"header {each['name']}: {error}"
            elif each.get("required"):
                yield f"accepted without {each['name']}"
        body = operation.get("requestBody")
        if body is None:
            if exchange["request_byte_count"] > 0:
                yield "a body was accepted"
        elif exchange["request_byte_count"] == 0 and not body.get("required"):
            pass
        elif "application/json" in body["content"]:
            schema = body["content"]["application/json"]["schema"]
            for error in self.errors(schema, exchange["request_body"]):
                yield f"accepted body: {error}"
        elif any(
            exchange["request_byte_count"] < media.get("schema", {}).get("minLength", 0)
            for media in body["content"].values()
        ):
            yield "an empty body was accepted"


def main():
    with open(sys.argv[1]) as file:
        document = json.load(file)
    with open(sys.argv[2]) as file:
        exchanges = json.load(file)
    validate(document)
    judge = Judge(document)
    complaints = {
        f"{exchange['method']} {exchange['target']} {exchange['status']}: {error}": None
        for exchange in exchanges
        for error in judge.judge(exchange)
    }
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
