#!/usr/bin/env python3
"""Signs one request with the independent library http-message-signatures and prints its headers.

Needs the PyPI packages http-message-signatures, cryptography and requests. Prints the headers as one
JSON array of [name, value] pairs, with the request target as an additional pair, ":target".
"""

import argparse
import base64
import datetime
import json

import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver, algorithms


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", required=True, help="the private key's 32 bytes in hexadecimal")
    parser.add_argument("--method", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--body", help="in hexadecimal (default: no body)")
    parser.add_argument("--created", required=True, type=int, help="seconds since 1970")
    parser.add_argument("--expires", required=True, type=int, help="seconds since 1970")
    parser.add_argument("--nonce")
    parser.add_argument("--label")
    parser.add_argument("--tag")
    parser.add_argument("--cover", action="append", default=[], help="an additional component to cover")
    return parser.parse_args()


def main():
    options = arguments()
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(options.seed))
    public = key.public_key()
    key_id = base64.b64encode(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    body = None if options.body is None else bytes.fromhex(options.body)
    request = requests.Request(options.method, options.url, data=body).prepare()
    signer = HTTPMessageSigner(
        signature_algorithm=algorithms.ED25519,
        key_resolver=MappingKeyResolver(public_keys={key_id: public}, private_keys={key_id: key}),
    )
    signer.sign(
        request,
        key_id=key_id,
        created=datetime.datetime.fromtimestamp(options.created, datetime.timezone.utc),
        expires=datetime.datetime.fromtimestamp(options.expires, datetime.timezone.utc),
        nonce=options.nonce,
        label=options.label,
        tag=options.tag,
        covered_component_ids=("@method", "@authority", "@path", "@query", *options.cover),
        body=body,
    )
    print(json.dumps([*request.headers.items(), (":target", request.path_url)]))


main()
