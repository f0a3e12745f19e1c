package import Base
package import JSON
package import Storage

/// The deletion of an account: who asked for it, and until when it can be cancelled.
///
/// Because of it both servers refuse writes for such an account, and charges to its customer.
package struct Departure: Sendable, Equatable {
  package let asked: Instant
  /// When the erasure begins; nil while an export is awaited.
  package let erases: Instant?
  /// Whether the erasure has begun, so that it cannot be cancelled any more.
  package let hasBegun: Bool
  /// Nil if the deletion was requested before this was recorded.
  package let asker: Asker?

  package enum Asker: String, Sendable {
    case owner, `operator`
  }

  /// The account's deletion; nil if the account stays.
  package static func find(
    _ account: Identifier, reading database: some Queryable
  ) throws -> Departure? {
    try database.first(
      """
      SELECT asked_ms, erase_ms, begun_ms, asked_by FROM sync.account_deletions
      WHERE account_id = $1
      """, .id(account)
    ) { row in
      Departure(
        asked: try row.instant(0), erases: try row.optionalInstant(1),
        hasBegun: try row.optionalInstant(2) != nil,
        asker: try row.optionalText(3).flatMap { Asker(rawValue: $0) })
    }
  }

  /// Who asked and how to cancel it, for programs.
  package var members: [JSONValue.Member] {
    [
      .init("asked", .string(asked.description)),
      .init("asked_by", asker.map { .string($0.rawValue) } ?? .null),
      .init("erases", erases.map { .string($0.description) } ?? .null),
      .init("cancel", hasBegun ? .null : "DELETE /v1/account/deletion"),
    ]
  }

  /// The same for the account's users.
  package var detail: String {
    let asked =
      switch asker {
      case .owner: "Its owner asked for that on \(asked)."
      case .operator: "The operator asked for that on \(asked)."
      case nil: "That was asked for on \(asked)."
      }
    let undone =
      hasBegun
      ? "The erasure has begun and cannot be cancelled."
      : "DELETE /v1/account/deletion of the sync API cancels it, signed by a key of the account."
    return "The account is being deleted. \(asked) \(undone)"
  }
}
