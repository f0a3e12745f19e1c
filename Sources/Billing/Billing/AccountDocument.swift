import Answers
import Base
import Endpoints
import JSON
import Ledger
import Requests
import Storage

/// `GET` of what is known about the caller's account.
struct AccountDocument: AccountRead {
  let pattern: String
  let gate: RequestGate
  let document: @Sendable (Identifier, Instant, Reader) throws -> JSONValue

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> JSONValue {
    try document(Caller(reader, request.credentials, now: now).account, now, reader)
  }

  static func all(ledger: Ledger, gate: RequestGate) -> [AccountDocument] {
    [
      // What the account pays for, what applies, and what its customer can do now.
      AccountDocument(pattern: "/v1/subscription", gate: gate) { account, now, reader in
        try ledger.overview(of: account, at: now, reading: reader).json
      },
      // What the account paid or was asked to pay, and what went back, in all stores.
      AccountDocument(pattern: "/v1/payments", gate: gate) { account, now, reader in
        try ledger.paymentHistory(of: account, at: now, reading: reader).json
      },
      // Whether a store that asks before a refund may learn the usage, and what was answered.
      AccountDocument(pattern: "/v1/refund-consent", gate: gate) { account, _, reader in
        try RefundConsent.json(of: account, reading: reader)
      },
    ]
  }
}
