import Accounts
import Base
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/key-packages`: the calling device offers key packages. Those that it offered before are not stored again.
struct PostKeyPackages: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/key-packages"
  let bodyByteCountMax = 256 << 10

  /// The packages can only be checked against the device's key, which a session's token does not tell.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> JSON {
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    let json = try JSON.body(body, limits: JSONLimits(byteCountMax: bodyByteCountMax))
    try json.requireMembers(["key_packages", "last_resort"])
    return json
  }

  func write(
    _ json: JSON, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let caller = locked.caller
      let offer = try KeyPackageOffer(json, of: caller.publicKey)
      try locked.owners.requireWritable([], by: caller, transaction)
      let count = try offer.store(
        transaction, of: caller.publicKey, caller.account, &locked.owners, host: host, now: now)
      try locked.owners.save(transaction, now: now)
      let offered = try KeyPackageRows.offered(transaction, of: caller.publicKey)
      return Outcome(
        200,
        [
          "stored": .integer(Int64(count)), "key_packages": .integer(offered.count),
          "last_resort": .bool(offered.hasLastResort),
        ])
    }
  }
}

extension KeyPackageOffer {
  fileprivate init(_ json: JSON, of device: [UInt8]) throws(RequestRefusal) {
    let list = json["key_packages"]
    var packages: [KeyPackage] = []
    if list.exists {
      guard let items = list.array, items.count <= KeyPackageRows.countMax else {
        throw .bodyInvalid(
          path: list.path, rule: "must be a list of at most \(KeyPackageRows.countMax) key packages"
        )
      }
      packages = try items.map { (json) throws(RequestRefusal) in
        try KeyPackage(json, of: device)
      }
    }
    let last = json["last_resort"]
    let lastResort =
      try last.exists && !last.isNull ? KeyPackage(last, of: device) : nil
    let all = packages + (lastResort.map { [$0] } ?? [])
    guard Set(all).count == all.count else {
      throw .bodyInvalid(path: json.path, rule: "must name each key package once")
    }
    self.init(packages: packages, lastResort: lastResort)
  }
}

/// `POST /v1/devices/{key}/key-packages/claim`: takes one key package of a device of the account or a contact.
struct PostClaim: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/devices/{key}/key-packages/claim"
  let bodyByteCountMax = 0

  struct Claimed: Sendable {
    let outcome: Outcome
    /// Whether the same request was carried out before.
    let isRepeated: Bool
  }

  /// Returns the device's key.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> [UInt8] {
    guard let key = Base64.url.decode(request.captures[0]),
      key.count == Ed25519PublicKey.byteCount
    else { throw MailboxRefusal.deviceNotFound }
    return key
  }

  func write(
    _ device: [UInt8], of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Claimed {
    let credentials = request.credentials
    var locked = try LockedCaller(transaction, credentials, now: now) { caller in
      [try KeyPackageClaim.account(of: device, for: caller, transaction)]
    }
    if let recorded = try Nonces.recorded(transaction, credentials) {
      return Claimed(outcome: recorded, isRepeated: true)
    }
    let claim = KeyPackageClaim(
      host: host, transaction: transaction, claimer: locked.caller.account, now: now)
    let claimed = try claim.claim(of: device, &locked.owners)
    try locked.owners.save(transaction, now: now)
    let outcome = try Nonces.once(transaction, credentials) {
      Outcome(
        200, ["key_package": .base64(claimed.bytes), "last_resort": .bool(claimed.isLastResort)])
    }
    return Claimed(outcome: outcome, isRepeated: false)
  }

  func respond(_ claimed: Claimed, to input: AccountInput<[UInt8]>) -> Response {
    if !claimed.isRepeated { MailboxMetrics.claimed.add() }
    return claimed.outcome.response
  }
}
