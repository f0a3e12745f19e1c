"""The service that `ops/bench webhooks` compares with: a careful Python programmer's first version.

FastAPI on uvicorn (uvloop, httptools) checks the signature with the `stripe` package and commits one
row with synchronous=FULL before the 200. The service decodes only what that check builds, derives no
entitlement and seals nothing. It does less work for each event than coffer-billing.

BENCH_SECRET is the endpoint's secret, BENCH_DATABASE the path of the database.
"""

import os
import sqlite3

import stripe
from fastapi import FastAPI, Request, Response

SECRET = os.environ["BENCH_SECRET"]

database = sqlite3.connect(os.environ["BENCH_DATABASE"], isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute(
    "CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY, type TEXT NOT NULL,"
    " created INTEGER NOT NULL, body BLOB NOT NULL) STRICT"
)

app = FastAPI(openapi_url=None)


# Asynchronous, with a blocking commit inside: the event loop waits for the disk. This still answered
# more requests a second than a plain `def`, which hands each request over to a thread.
@app.post("/webhooks/stripe")
async def receive(request: Request) -> Response:
    body = await request.body()
    try:
        event = stripe.Webhook.construct_event(
            body, request.headers.get("stripe-signature", ""), SECRET
        )
    except (ValueError, stripe.SignatureVerificationError):
        return Response(status_code=400)
    database.execute(
        "INSERT INTO deliveries (id, type, created, body) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (event.id, event.type, event.created, body),
    )
    return Response(status_code=200)
