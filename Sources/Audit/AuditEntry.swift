package import Base
import Crypto
import JSON
package import Storage

/// One act, as the log stores it.
package struct AuditEntry: Sendable {
  /// The entry's place: its chain and its number there.
  package let name: Name
  package let at: Instant
  package let actor: String
  package let act: String
  package let subject: String
  package let account: Identifier?
  package let formerAccount: Identifier?
  package let reason: String
  /// JSON texts.
  package let before: String
  package let after: String
  package private(set) var digest: [UInt8] = []
  /// Whether the stored accounts are account ids. Other bytes were not written by an act, and are shown as none.
  private let hasAccounts: Bool

  package struct Name: Hashable, Sendable, CustomStringConvertible {
    package let schema: Schema
    /// Counts from 1, without a gap.
    package let number: Int64

    package init(_ schema: Schema, _ number: Int64) {
      self.schema = schema
      self.number = number
    }

    /// Parses the output of `description`.
    package init?(_ text: String) {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let schema = Schema(rawValue: String(parts[0])),
        let number = Int64(parts[1]), number > 0
      else { return nil }
      self.init(schema, number)
    }

    package var description: String { "\(schema):\(number)" }
  }

  /// The digest before the first entry.
  static let noDigest = [UInt8](repeating: 0, count: 32)

  init(
    _ draft: AuditLog.Draft, _ schema: Schema, number: Int64, at moment: Instant,
    after previous: [UInt8]
  ) {
    name = Name(schema, number)
    at = moment
    actor = draft.actor
    act = draft.act
    subject = draft.subject
    account = draft.account
    formerAccount = draft.formerAccount
    reason = draft.reason
    before = String(decoding: draft.before.encoded(), as: UTF8.self)
    after = String(decoding: draft.after.encoded(), as: UTF8.self)
    hasAccounts = true
    digest = computedDigest(after: previous)
  }

  static let columns = """
    number, at_ms, actor, act, subject, account_id, former_account_id, reason, state_before,
    state_after, digest
    """

  init(_ row: borrowing Row, of schema: Schema) throws {
    name = Name(schema, try row.integer(0))
    at = try row.instant(1)
    actor = try row.text(2)
    act = try row.text(3)
    subject = try row.text(4)
    let accounts = try (5...6).map { try row.optionalBlob($0) }
    account = accounts[0].flatMap { Identifier(bytes: $0) }
    formerAccount = accounts[1].flatMap { Identifier(bytes: $0) }
    hasAccounts = accounts.allSatisfy { $0.map { Identifier(bytes: $0) != nil } ?? true }
    reason = try row.text(7)
    before = try row.text(8)
    after = try row.text(9)
    digest = try row.blob(10)
  }

  /// Whether this is what was written after the entry with that digest.
  func follows(_ previous: [UInt8]) -> Bool {
    hasAccounts && digest == computedDigest(after: previous)
  }

  /// SHA-256 of the previous digest and of each member, preceded by its length in 8 bytes, highest
  /// byte first. Numbers are decimal; an account is its 16 bytes, or none.
  private func computedDigest(after previous: [UInt8]) -> [UInt8] {
    let numbers = [name.schema.rawValue, "\(name.number)", "\(at.milliseconds)"]
    let members =
      (numbers + [actor, act, subject]).map { Array($0.utf8) }
      + [account, formerAccount].map { $0?.bytes ?? [] }
      + [reason, before, after].map { Array($0.utf8) }
    return SHA256.hash(
      members.reduce(previous) { text, member in
        let length = UInt64(member.count)
        return text + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) } + member
      })
  }
}
