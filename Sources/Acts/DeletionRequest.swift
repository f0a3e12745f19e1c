import Accounts
import Audit
package import Base
import CommandLine
package import Configuration
import JSON
import KnownStores
package import Ledger
import Requests
package import Storage
import Stores
import Subscriptions
import Sync

/// An operator's request to delete an account.
package struct DeletionRequest: Sendable {
  /// When the erasure may begin.
  package enum Begin: Sendable {
    case now
    case after(Instant.Span)
    /// Some days after an export that is still to be made.
    case afterExport
  }

  private let account: Identifier
  private let begin: Begin
  private let hasMoved: Bool
  private let patience: Instant.Span?
  private let exportAct: String
  private let ledger: Ledger

  /// `hasMoved` says that another Coffer has the account, so that its stores are not asked to stop billing.
  /// Whoever waits for the erasure has `patience`. `exportAct` is the name of exports in the audit log.
  package init(
    of account: Identifier, _ begin: Begin, hasMoved: Bool, patience: Instant.Span?,
    exportAct: String, _ ledger: Ledger
  ) {
    (self.account, self.begin, self.hasMoved) = (account, begin, hasMoved)
    (self.patience, self.exportAct, self.ledger) = (patience, exportAct, ledger)
  }

  /// The time after the request, or the export, in which an account can still be kept.
  package static func delay(_ settings: Settings) throws -> Instant.Span {
    var reader = SettingsReader(settings, for: .command)
    return .days(reader.value(SyncSettings.deletionDelayDays) ?? 7)
  }

  /// Requests the deletion, or hastens one that was requested before.
  package func effect(at moment: Instant, in transaction: Transaction) throws -> Act.Effect {
    let (account, known) = try DatabaseSession.lockedAccount(transaction, account.description)
    let consequences = try DeletionConsequences(of: account.id, reading: transaction)
    let erases: Instant? =
      switch begin {
      case .now: moment
      case .after(let delay): moment + delay
      case .afterExport: nil
      }
    if let patience, let erases, erases > moment + patience {
      throw CommandFailure(
        .usage,
        "\(account.id) is erased from \(erases) on, later than --wait waits: give --now or a longer "
          + "--timeout")
    }
    let exported = try lastExport(reading: transaction)
    if hasMoved, exported == nil {
      throw CommandFailure(
        .refused, "the audit log has no export of \(account.id): run coffer account export first")
    }
    let hasMoved = hasMoved || known?.hasMoved == true
    let sentences = try sentences(hasMoved: hasMoved, exported: exported, reading: transaction)
    if let known {
      try requireSooner(known, at: moment)
      _ = try AccountDeletion.hasten(account.id, erasing: moment, in: transaction)
    } else {
      _ = try AccountDeletion.ask(
        for: account.id, erasing: erases, by: .operator, hasMoved: hasMoved, at: moment,
        in: transaction)
    }
    let state: AccountDeletion.State = erases == nil ? .exporting : .waiting
    return Act.Effect(
      subject: account.id.description, name: account.username, account: account.id,
      before: .object(
        [
          .init("state", .string(known?.state.rawValue ?? "kept")),
          .init("erases", Self.time(known?.erases)),
        ] + consequences.members.filter { $0.name != "shared_with" }),
      after: .object(
        [.init("state", .string(state.rawValue)), .init("erases", Self.time(erases))]
          + (hasMoved ? [.init("moved", .bool(true))] : [])
          + (sentences.isEmpty ? [] : [.init("stores", .array(sentences.map { .string($0) }))])),
      text: "\(account.id) is erased "
        + (erases.map { "from \($0) on" }
          ?? "some days after coffer account export \(account.id) --to <path>")
        + (known?.state == .exporting ? ", without the export that it waited for" : "")
        + "; coffer deletion cancel keeps it until erasing begins\n",
      members: [
        .init("account", .string(account.id.description)), .init("erases", Self.time(erases)),
      ])
  }

  /// Throws if a requested deletion would not come sooner, or if its stores may already have been
  /// asked to stop what --moved spares.
  private func requireSooner(_ known: AccountDeletion, at moment: Instant) throws {
    guard known.hasMoved || !hasMoved else {
      throw CommandFailure(
        .refused,
        "the deletion of \(known.account) was requested without --moved on \(known.asked), and its "
          + "stores may have been asked to stop billing; coffer deletion cancel keeps it")
    }
    guard case .now = begin else {
      throw CommandFailure(
        .refused,
        "the deletion of \(known.account) was requested on \(known.asked); it "
          + (known.erases.map { "is erased from \($0) on" } ?? "waits for its export")
          + ", and --now erases it at once")
    }
    if let erases = known.erases, erases <= moment {
      throw CommandFailure(
        .refused,
        "\(known.account) is erased from \(erases) on, which has passed: coffer-sync does it")
    }
  }

  private static let actCountMax = 1000

  private func lastExport(reading transaction: Transaction) throws -> Instant? {
    var query = AuditQuery()
    query.account = account
    return try query.entries(after: nil, limit: Self.actCountMax, reading: transaction)
      .first { $0.act == exportAct }?.at
  }

  /// What the deletion does about each subscription.
  private func sentences(
    hasMoved: Bool, exported: Instant?, reading transaction: Transaction
  ) throws -> [String] {
    try ledger.collecting(of: account, reading: transaction).map { key in
      let traits = try StoreList.known.store(of: key).traits
      guard !hasMoved else {
        return "\(traits.title) keeps billing \(key.id), for the Coffer that has the account now"
      }
      guard traits.orders.contains(.stopRenewal) else {
        return "\(traits.title) keeps billing \(key.id): only the customer can stop it"
      }
      return "\(traits.title) will be asked to stop billing \(key.id)"
        + (exported.map {
          ", although the account was exported on \($0): with --moved it is not asked"
        }
          ?? "")
    }
  }

  private static func time(_ moment: Instant?) -> JSONValue {
    moment.map { .string($0.description) } ?? .null
  }
}
