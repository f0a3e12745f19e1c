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

  struct Item: Sendable {
    let version: DocumentVersion
    let isSigned: Bool
  }

  let items: [Item]

  /// Reads the body, and checks the signatures.
  init(_ body: [UInt8], counting signatures: SignatureCounter) throws(RequestRefusal) {
    let json = try JSON.body(body, limits: JSONLimits(byteCountMax: Self.bodyByteCountMax))
    try json.requireMembers(["versions"])
    guard let list = json["versions"].array, 1...Self.versionCountMax ~= list.count else {
      throw .bodyInvalid(
        path: "$.versions", rule: "must be a list of 1 to \(Self.versionCountMax) versions")
    }
    items = try list.map { (json) throws(RequestRefusal) in
      let version = try DocumentVersion(json)
      signatures.countStatement()
      return Item(version: version, isSigned: version.isSigned)
    }
  }
}
