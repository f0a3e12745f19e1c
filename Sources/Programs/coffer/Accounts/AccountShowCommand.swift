internal import Accounts
internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Storage
internal import Sync
internal import Tiers

extension Command {
  static let accountShow = Command(
    words: ["account", "show"],
    abstract: "Show an account's usage, quota, state and device keys",
    examples: ["coffer account show ada"],
    arguments: [CommonArguments.account],
    answers: AccountSummary.shape.adding([
      .init(
        "devices",
        .list(
          [
            "public_key": .text, "label": .text, "added": .time, "revoked": .orNull(.time),
            "by_operator": .bool,
          ])),
      .init("proven", .bool),
    ]),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let now = configuration.clock.now()
        let (summary, devices) = try database.read { reader in
          let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
          let cap = try Cap(
            reader, account.id, catalogue: configuration.catalogue, now: now)
          let deletion = try DeletionProgress(of: account.id, reading: reader)
          return (
            AccountSummary(account, cap, deletion), try Device.listAll(reader, of: account.id)
          )
        }
        return Answer(
          text: text(summary, devices, now: now),
          json: .object(
            summary.members + [
              .init("devices", .array(devices.map(json))),
              .init("proven", .bool(Device.prove(summary.account.id, devices))),
            ]))
      }
    })

  private static func text(
    _ summary: AccountSummary, _ devices: [Device], now: Instant
  ) -> String {
    let account = summary.account
    var table = Table(
      ("KEY", .left), ("LABEL", .left), ("ADDED", .left), ("REVOKED", .left), ("BY", .left))
    for device in devices {
      table.add(
        Base64.standard.encode(device.publicKey), device.label,
        Terminal.time(device.added, now: now), Terminal.time(device.revoked, now: now),
        device.isByOperator ? "operator" : "-",
        tint: device.revoked == nil ? nil : .past)
    }
    return """
      account    \(account.id)
      proven     \(Device.prove(account.id, devices) ? "by its keys" : "no: its keys do not prove its id")
      username   \(account.username ?? "-")
      root       \(account.root)
      created    \(account.created)
      suspended  \(summary.suspended?.description ?? "-")
      deletion   \(summary.deletion?.text ?? "-")
      invite     \(account.invite?.description ?? "-")
      used       \(account.usageByteCount) bytes (\(ByteCount.text(account.usageByteCount)))
      cap        \(summary.cap.byteCount) bytes (\(ByteCount.text(summary.cap.byteCount)))
      plan       \(summary.cap.planID)
      reason     \(summary.cap.reason.rawValue)

      \(table.text)
      """
  }

  private static func json(_ device: Device) -> JSONValue {
    [
      "public_key": .string(Base64.standard.encode(device.publicKey)),
      "label": .string(device.label), "added": .string(device.added.description),
      "revoked": device.revoked.map { .string($0.description) } ?? .null,
      "by_operator": .bool(device.isByOperator),
    ]
  }
}
