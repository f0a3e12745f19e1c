import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import KeyBackup
import KnownProtocols
import Logs
import Mailboxes
import PublicLinks
import Storage
import Sync
import Tiers

extension Command {
  static let accountShow = Command(
    words: ["account", "show"],
    abstract: "Show an account's usage, quota, state and device keys",
    examples: ["coffer account show ada"],
    arguments: [CommonArguments.account],
    answers: ShownAccount.listing.item,
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let shown = try database.read { reader in
          try ShownAccount(
            try DatabaseSession.account(reader, invocation[CommonArguments.account]),
            configuration.catalogue, at: now, reader)
        }
        return Answer(text: shown.text(at: now), json: ShownAccount.listing.json(shown))
      }
    })
}

/// An account with what it keeps besides its files, of which only `usage show` knows the number.
private struct ShownAccount {
  private typealias Kind = (name: String, weight: UsageWeight)

  private let summary: AccountSummary
  private let keys: [Device]
  /// Nil once its keys are erased, with the account.
  private let isProven: Bool?
  private let overdraft: Int64
  private let failures: MessageFailures
  private let kinds: [Kind]
  private let historyByteCount: Int64
  private let linkCount: Int64
  private let appPasswordCount: Int64
  /// How its owner gets back in without a device, and whether that is under way.
  private let recoveryKey: RecoveryKey?
  private let recovery: Recovery?

  init(_ account: Account, _ catalogue: Catalogue, at now: Instant, _ reader: Reader) throws {
    summary = try AccountSummary(account, catalogue, at: now, reading: reader)
    keys = try Device.listAll(reader, of: account.id)
    isProven =
      keys.isEmpty
      ? nil : Device.prove(account.id, keys, try RecoveryKey.inChains(reader, of: account.id))
    overdraft = try LogOverdraft.byteCount(reader, of: account.id)
    failures = try MessageFailures(reader, of: account.id)
    kinds = try KnownProtocols.all.weights(of: account.id, reading: reader)
      .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    historyByteCount =
      try account.historyByteCount
      + KnownProtocols.all.historyByteCount(of: account.id, reading: reader)
    linkCount = try PublicLink.weight(reader, of: account.id).recordCount
    appPasswordCount = Int64(try AppPassword.list(reader, of: account.id).count)
    recoveryKey = try RecoveryKey.find(reader, of: account.id)
    recovery = try Recovery.live(reader, of: account.id)
  }

  static var listing: Listing<ShownAccount> {
    Listing(
      AccountSummary.single.columns { $0.summary } + [
        .list("devices", devices) { $0.keys },
        Column("proven", .orNull(.bool)) { $0.isProven.map { .bool($0) } ?? .null },
        .integer("history") { $0.historyByteCount },
        .integer("trash") { $0.summary.account.trashByteCount },
        .integer("log_overdraft") { $0.overdraft },
        .integer("message_failures") { $0.failures.count },
        .optionalText("last_message_failure") { $0.failures.last },
        .integer("public_links") { $0.linkCount },
        .integer("app_passwords") { $0.appPasswordCount },
        .list("types", types) { $0.kinds },
        .optionalText("recovery_key") {
          $0.recoveryKey.map { Base64.standard.encode($0.publicKey) }
        }, .optionalTime("recovery_opens") { $0.recovery?.opens },
        .text("when_full") { $0.summary.account.whenFull.rawValue },
      ])
  }

  func text(at now: Instant) -> String {
    head + (kinds.isEmpty ? "" : Self.types.text(kinds, at: now) + "\n")
      + Self.devices.text(keys, at: now)
  }

  private var head: String {
    let account = summary.account
    let proof =
      switch isProven {
      case true?: "by its keys"
      case false?: "no: its keys do not prove its id"
      case nil: "unknown: its keys are erased"
      }
    return """
      account    \(account.id)
      proven     \(proof)
      username   \(account.username ?? "-")
      root       \(account.root)
      created    \(account.created)
      suspended  \(summary.suspended?.description ?? "-")
      deletion   \(summary.deletion?.text ?? "-")
      invite     \(account.invite?.description ?? "-")
      used       \(account.usageByteCount) bytes (\(ByteCount.text(account.usageByteCount)))
      history    \(historyByteCount) bytes of it are earlier versions of files and documents
      trash      \(account.trashByteCount) bytes of it are deleted files
      overdraft  \(overdraft) bytes of it are messages above the cap
      unusable   \(failures.text)
      links      \(linkCount) public links
      apps       \(appPasswordCount) app passwords
      recovery   \(recoveryText)
      when full  \(account.whenFull.rawValue)
      cap        \(summary.cap.byteCount) bytes (\(ByteCount.text(summary.cap.byteCount)))
      plan       \(summary.cap.planID)
      reason     \(summary.cap.reason.rawValue)


      """
  }

  private var recoveryText: String {
    guard let recoveryKey else { return "-" }
    let named = "a key named \(recoveryKey.named), with \(recoveryKey.delayDays) days to refuse"
    guard let recovery else { return named }
    return recovery.state == .open
      ? "\(named); open since \(recovery.opens)" : "\(named); waits until \(recovery.opens)"
  }

  private static var types: Listing<Kind> {
    Listing([
      .text("type", "TYPE") { $0.name }, .integer("records", "RECORDS") { $0.weight.recordCount },
      .integer("content", "CONTENT") { $0.weight.contentByteCount },
    ])
  }

  private static var devices: Listing<Device> {
    Listing(
      "devices",
      [
        .text("public_key", "KEY") { Base64.standard.encode($0.publicKey) },
        .text("label", "LABEL") { $0.label }, .time("added", "ADDED") { $0.added },
        .optionalTime("revoked", "REVOKED") { $0.revoked },
        Column(
          "by_operator", .bool, "BY", json: { .bool($0.isByOperator) },
          cell: { device, _ in device.isByOperator ? "operator" : "-" }),
      ], tint: { $0.revoked == nil ? nil : .past })
  }
}
