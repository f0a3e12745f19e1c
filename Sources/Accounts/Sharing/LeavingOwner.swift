package import Base
package import JSON

/// An account that is being deleted, as those see it with whom it shares. Until it is erased they can read and copy.
package struct LeavingOwner: Sendable {
  private let owner: Identifier
  /// Nil while the account waits for its export.
  private let erases: Instant?

  package init(_ owner: Identifier, erases: Instant?) {
    self.owner = owner
    self.erases = erases
  }

  package var json: JSONValue {
    [
      "owner": .string(owner.description),
      "erases": erases.map { .string($0.description) } ?? .null,
    ]
  }
}
