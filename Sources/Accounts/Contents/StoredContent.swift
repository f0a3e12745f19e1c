package import Base

/// A content that a download sends.
package struct StoredContent: Sendable {
  /// Where it is: in memory, or under an object id.
  package enum Place: Sendable {
    case bytes([UInt8])
    case object(Identifier)

    package var objectID: Identifier? {
      if case .object(let id) = self { id } else { nil }
    }
  }

  /// The account that pays for it.
  package let owner: Identifier
  package let version: Int64
  package let byteCount: Int64
  package let place: Place
  /// Whether it was replaced, is not kept, and may be deleted at any moment.
  package let isLeaving: Bool

  package init(
    owner: Identifier, version: Int64, byteCount: Int64, place: Place, isLeaving: Bool = false
  ) {
    self.owner = owner
    self.version = version
    self.byteCount = byteCount
    self.place = place
    self.isLeaving = isLeaving
  }
}
