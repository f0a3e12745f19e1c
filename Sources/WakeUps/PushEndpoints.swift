import Accounts
import Base
import Endpoints
import JSON
import Requests
import Storage
import Streams

/// `PUT /v1/push`: registers the push id by which the device that signs the request is woken.
struct PutPush: SyncWrite {
  let host: ProtocolHost
  let protocols: [any ProtocolRoom.Type]
  let method = "PUT"
  let pattern = "/v1/push"

  private static let byteCountMax = 512

  /// A key must sign it: no session decides how a device is woken.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> String {
    _ = try request.credentials.requireSignature()
    let json = try JSON.body(body)
    try json.requireMembers(["id"])
    guard let id = json["id"].string, (1...Self.byteCountMax).contains(id.utf8.count),
      id.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else {
      throw RequestRefusal.bodyInvalid(
        path: json["id"].path,
        rule: "must be 1 to \(Self.byteCountMax) ASCII characters without blanks")
    }
    return id
  }

  func write(
    _ pushID: String, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let caller = locked.caller
      guard
        let seen = try Look.see(
          [caller.account], of: protocols, transaction, now: now)[caller.account]
      else { throw RequestRefusal.unknownKey }
      try PushRow.register(
        caller.publicKey, of: caller.account, pushID, seen, now: now, in: transaction)
      return Outcome(status: 204, body: [])
    }
  }
}

/// `DELETE /v1/push`: the device that signs the request is woken no more. Takes no body.
struct DeletePush: SignedWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/push"

  func write(
    _: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      try PushRow.remove(locked.caller.publicKey, in: transaction)
      return Outcome(status: 204, body: [])
    }
  }
}
