import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/messages`: stores a sealed message in the mailboxes of devices, once for each id of the sending device.
struct PostMessages: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/messages"
  let bodyByteCountMax = SealedMessage.requestByteCountMax

  /// What became of the request.
  struct Sent: Sendable {
    /// Nil if no device takes the message. That is refused after the commit, because full mailboxes were noted.
    let outcome: Outcome?
    /// Nil if the same request was carried out before.
    let delivered: Delivered?
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> SealedMessage {
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    return try SealedMessage(body)
  }

  func write(
    _ message: SealedMessage, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Sent {
    let credentials = request.credentials
    var locked = try LockedCaller(transaction, credentials, now: now) { caller in
      try Delivery.accounts(of: message.receivers, from: caller, transaction)
    }
    if let recorded = try Nonces.recorded(transaction, credentials) {
      return Sent(outcome: recorded, delivered: nil)
    }
    let delivered = try Delivery(transaction, by: locked.caller, host: host, now: now)
      .store(message, &locked.owners)
    try locked.owners.save(transaction, now: now)
    guard delivered.receiverCount > 0 else {
      return Sent(outcome: nil, delivered: delivered)
    }
    let outcome = try Nonces.once(transaction, credentials) { Outcome(200, delivered.json) }
    return Sent(outcome: outcome, delivered: delivered)
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ sent: Sent, to input: AccountInput<SealedMessage>) throws -> Response {
    sent.delivered?.count(host.transfers)
    guard let outcome = sent.outcome else {
      throw MailboxRefusal.messageNotDelivered(sent.delivered?.refused ?? [])
    }
    return outcome.response
  }
}

extension Delivered {
  fileprivate var json: JSONValue {
    [
      "stored": .integer(Int64(receiverCount)), "refused": .array(refused.map(\.json)),
      "repeated": .bool(isRepeated),
    ]
  }
}
