import Base
import Endpoints
import HTTPMessages
import JSON
import Ledger
import Requests
import Storage
import Subscriptions

/// `PUT /v1/refund-consent`: gives or withdraws the consent.
struct PutRefundConsent: AccountWrite {
  let gate: RequestGate
  let method = "PUT"
  let pattern = "/v1/refund-consent"
  let bodyByteCountMax = 1024

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Bool {
    try JSON.body(body)["given"].boolean()
  }

  func write(
    _ isGiven: Bool, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> JSONValue {
    let account = try Caller(transaction, request.credentials, now: now).account
    if isGiven {
      try RefundConsent.give(by: account, at: now, in: transaction)
    } else {
      try RefundConsent.withdraw(by: account, in: transaction)
    }
    return try RefundConsent.json(of: account, reading: transaction)
  }

  func respond(_ consent: JSONValue, to input: AccountInput<Bool>) throws -> Response {
    .json(200, consent)
  }
}

extension RefundConsent {
  /// The most answers shown, the newest ones.
  private static let answerCountMax = 20

  static func json(
    of account: Identifier, reading database: some Queryable
  ) throws -> JSONValue {
    let since = try since(of: account, reading: database)
    let told = try RefundQuestionRow.all(
      of: account, before: nil, limit: answerCountMax, reading: database)
    return [
      "given": .bool(since != nil), "since": since.map { .string($0.description) } ?? .null,
      "told": .array(
        told.map { row in
          [
            "payment": .string(row.payment.description), "asked": .string(row.asked.description),
            "answer": row.answer.map { .string($0) } ?? .null,
          ]
        }),
    ]
  }
}
