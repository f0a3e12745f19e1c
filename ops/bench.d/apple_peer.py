"""The service that `ops/bench webhooks` compares with for the App Store, built on Apple's own library.

FastAPI on uvicorn (uvloop, httptools). `app-store-server-library`, used as documented, verifies and
decodes the notification, its transaction and its renewal info without online checks. One row is
committed with synchronous=FULL before the 200. The service derives no entitlement and seals nothing.

BENCH_ROOT is the path of the trusted root in DER, BENCH_DATABASE the path of the database.
BENCH_BUNDLE and BENCH_APP identify the app.
"""

import os
import pathlib
import sqlite3

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from fastapi import FastAPI, Request, Response

verifier = SignedDataVerifier(
    [pathlib.Path(os.environ["BENCH_ROOT"]).read_bytes()],
    False,
    Environment.PRODUCTION,
    os.environ["BENCH_BUNDLE"],
    int(os.environ["BENCH_APP"]),
)

database = sqlite3.connect(os.environ["BENCH_DATABASE"], isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute(
    "CREATE TABLE IF NOT EXISTS deliveries (id TEXT PRIMARY KEY, type TEXT NOT NULL,"
    " original_transaction TEXT, expires INTEGER, renews INTEGER, body BLOB NOT NULL) STRICT"
)

app = FastAPI(openapi_url=None)


# Asynchronous, for the reason given in fastapi_peer.py.
@app.post("/webhooks/apple")
async def receive(request: Request) -> Response:
    body = await request.body()
    try:
        signed = (await request.json())["signedPayload"]
        notification = verifier.verify_and_decode_notification(signed)
        transaction = verifier.verify_and_decode_signed_transaction(
            notification.data.signedTransactionInfo
        )
        renewal = verifier.verify_and_decode_renewal_info(notification.data.signedRenewalInfo)
    except (ValueError, KeyError, VerificationException):
        return Response(status_code=400)
    database.execute(
        "INSERT INTO deliveries (id, type, original_transaction, expires, renews, body)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            notification.notificationUUID,
            notification.rawNotificationType,
            transaction.originalTransactionId,
            transaction.expiresDate,
            renewal.rawAutoRenewStatus,
            body,
        ),
    )
    return Response(status_code=200)
