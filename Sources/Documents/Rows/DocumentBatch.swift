import Base
import JSON
import Requests

/// Versions of one device that are stored together or not at all.
///
/// The counter of a device grows over all its documents. If a batch were stored in part, what was refused could not be
/// sent again under its counter.
struct DocumentBatch: Sendable {
  static let bodyByteCountMax = 2 << 20
  static let versionCountMax = 500
  /// The most rows that a batch writes: one for each version, and one for each other account that it names.
  static let rowCountMax: Int64 = 2000
  /// The most other accounts that the versions of a batch name. Their rows are all locked.
  static let receiverCountMax = 64
  /// The most rows that say which versions name which blobs.
  static let blobNameCountMax = Int64(versionCountMax * DocumentVersion.blobCountMax)

  struct Item: Sendable {
    let version: DocumentVersion
    let isSigned: Bool
  }

  let items: [Item]
  /// The other accounts that its versions name.
  let receivers: Set<Identifier>

  /// Reads the body, and checks the signatures.
  init(_ body: [UInt8], counting signatures: SignatureCounter) throws(RequestRefusal) {
    let json = try JSON.body(body, limits: JSONLimits(byteCountMax: Self.bodyByteCountMax))
    try json.requireMembers(["versions"])
    guard let list = json["versions"].array, 1...Self.versionCountMax ~= list.count else {
      throw .bodyInvalid(
        path: "$.versions", rule: "must be a list of 1 to \(Self.versionCountMax) versions")
    }
    let versions = try list.map { (json) throws(RequestRefusal) in try DocumentVersion(json) }
    receivers = Set(versions.flatMap(\.receivers))
    guard versions.reduce(0, { $0 + $1.placeCount }) <= Self.rowCountMax,
      receivers.count <= Self.receiverCountMax,
      versions.reduce(0, { $0 + $1.placeCount * Int64($1.blobs.count) }) <= Self.blobNameCountMax
    else {
      throw .bodyInvalid(
        path: "$.versions",
        rule: "must name at most \(Self.receiverCountMax) accounts, and be at most "
          + "\(Self.rowCountMax) with a copy for each account, and name "
          + "\(Self.blobNameCountMax) blobs in these")
    }
    items = versions.map { version in
      signatures.countStatement()
      return Item(version: version, isSigned: version.isSigned)
    }
  }
}
