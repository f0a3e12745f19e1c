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
    answers: AccountSummary.single.item.adding([
      devices.memberShape, .init("proven", .orNull(.bool)), .init("history", .integer),
      .init("trash", .integer), .init("log_overdraft", .integer),
      .init("message_failures", .integer), .init("last_message_failure", .orNull(.text)),
      .init("public_links", .integer), .init("app_passwords", .integer), kinds.memberShape,
      .init("recovery_key", .orNull(.text)),
      .init("recovery_opens", .orNull(.time)),
      .init("when_full", .text),
    ]),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (summary, keys, overdraft, failures, holdings, recovery) = try database.read {
          reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          return (
            try AccountSummary(account, configuration.catalogue, at: now, reading: reader),
            try Device.listAll(reader, of: account.id),
            try LogOverdraft.byteCount(reader, of: account.id),
            try MessageFailures(reader, of: account.id),
            try ShownHoldings(reader, account.id),
            try ShownRecovery(reader, account.id)
          )
        }
        // An account has keys until it is erased.
        let isProven =
          keys.isEmpty ? nil : Device.prove(summary.account.id, keys, recovery.chain)
        return Answer(
          text: text(
            summary, isProven: isProven, overdraft: overdraft, failures, holdings, recovery)
            + (holdings.kinds.isEmpty ? "" : kinds.text(holdings.kinds, at: now) + "\n")
            + devices.text(keys, at: now),
          json: .object(
            AccountSummary.single.members(summary) + [
              devices.member(keys),
              .init("proven", isProven.map { .bool($0) } ?? .null),
              .init("history", .integer(summary.account.historyByteCount)),
              .init("trash", .integer(summary.account.trashByteCount)),
              .init("log_overdraft", .integer(overdraft)),
              .init("message_failures", .integer(failures.count)),
              .init("last_message_failure", failures.last.map { .string($0) } ?? .null),
              .init("public_links", .integer(holdings.linkCount)),
              .init("app_passwords", .integer(holdings.appPasswordCount)),
              kinds.member(holdings.kinds),
              .init(
                "recovery_key",
                recovery.key.map { .string(Base64.standard.encode($0.publicKey)) } ?? .null),
              .init("recovery_opens", recovery.live.map { .moment($0.opens) } ?? .null),
              .init("when_full", .string(summary.account.whenFull.rawValue)),
            ]))
      }
    })

  private static func text(
    _ summary: AccountSummary, isProven: Bool?, overdraft: Int64, _ failures: MessageFailures,
    _ holdings: ShownHoldings, _ recovery: ShownRecovery
  ) -> String {
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
      history    \(account.historyByteCount) bytes of it are earlier versions of files
      trash      \(account.trashByteCount) bytes of it are deleted files
      overdraft  \(overdraft) bytes of it are messages above the cap
      unusable   \(failures.text)
      links      \(holdings.linkCount) public links
      apps       \(holdings.appPasswordCount) app passwords
      recovery   \(recovery.text)
      when full  \(account.whenFull.rawValue)
      cap        \(summary.cap.byteCount) bytes (\(ByteCount.text(summary.cap.byteCount)))
      plan       \(summary.cap.planID)
      reason     \(summary.cap.reason.rawValue)


      """
  }

  private static var kinds: Listing<ShownHoldings.Kind> {
    Listing(
      "types",
      [
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

/// What an account keeps besides its files, of which only `usage show` knows the number.
private struct ShownHoldings {
  typealias Kind = (name: String, weight: UsageWeight)

  let kinds: [Kind]
  let linkCount: Int64
  let appPasswordCount: Int64

  init(_ reader: Reader, _ account: Identifier) throws {
    kinds = try KnownProtocols.all.weights(of: account, reading: reader)
      .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    linkCount = try PublicLink.weight(reader, of: account).recordCount
    appPasswordCount = Int64(try AppPassword.list(reader, of: account).count)
  }
}

/// How an account's owner gets back in without a device, and whether that is under way.
private struct ShownRecovery {
  let key: RecoveryKey?
  let live: Recovery?
  /// The recovery keys that let devices in.
  let chain: [RecoveryKey]

  init(_ reader: Reader, _ account: Identifier) throws {
    key = try RecoveryKey.find(reader, of: account)
    live = try Recovery.live(reader, of: account)
    chain = try RecoveryKey.inChains(reader, of: account)
  }

  var text: String {
    guard let key else { return "-" }
    let named = "a key named \(key.named), with \(key.delayDays) days to refuse"
    guard let live else { return named }
    return live.state == .open
      ? "\(named); open since \(live.opens)" : "\(named); waits until \(live.opens)"
  }
}
