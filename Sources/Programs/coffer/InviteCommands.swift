internal import Base
internal import Configuration
internal import JSON
internal import Storage
internal import Sync

extension Command {
  static let inviteCreate = Command(
    words: ["invite", "create"],
    abstract: "Makes a code by which accounts may be opened.",
    discussion: "Where COFFER_REGISTRATION is invite, a client sends the code as the member invite "
      + "of POST /v1/accounts. The code is printed now and never again: only its hash is kept.",
    options: [
      Option(name: "--uses", value: "count", text: "how many accounts it opens, 1 if absent"),
      Option(name: "--days", value: "count", text: "after how many days it ends, 7 if absent"),
      Option(name: "--note", value: "text", text: "whom or what it is for"),
    ],
    run: { invocation in
      let uses = try number(invocation, "--uses", otherwise: 1, max: 1_000_000)
      let days = try number(invocation, "--days", otherwise: 7, max: 3650)
      let note = invocation.option("--note") ?? ""
      guard note.utf8.count <= 1000 else { throw CommandFailure(.usage, "--note is too long") }
      return try Store.with(invocation) { database, configuration in
        let now = configuration.clock.now()
        let expires = now + .days(days)
        let made = try database.write(for: nil) { transaction in
          try Invite.create(
            transaction, useCountMax: uses, expires: expires, note: note, now: now)
        }
        let code = String(decoding: made.code.exposed, as: UTF8.self)
        return Answer(
          text: "invite   \(made.id)\ncode     \(code)\nexpires  \(expires)\n",
          json: [
            "invite": .string(made.id.description), "code": .string(code),
            "uses": .integer(uses), "expires": .string(expires.description),
          ])
      }
    })

  static let inviteList = Command(
    words: ["invite", "list"],
    abstract: "Lists the codes that were made, the newest first; never a code itself.",
    discussion: "Where there are more than it shows, a line on stderr says how to go on. Which "
      + "invite opened an account stands in coffer account show.",
    options: [
      Option(name: "--limit", value: "count", text: "at most so many, 100 without this option"),
      Option(name: "--after", value: "invite", text: "start behind this invite"),
    ],
    run: { invocation in
      let limit = try invocation.limit()
      return try Store.with(invocation) { database, configuration in
        let now = configuration.clock.now()
        var invites = try database.read { reader in
          let after = try invocation.option("--after").map { try invite(reader, $0) }
          return try Invite.list(reader, after: after, limit: limit + 1)
        }
        var notice: String?
        if invites.count > limit {
          invites.removeLast()
          notice = invites.last.map { "there are more invites; go on with --after \($0.id)" }
        }
        var table = Table(
          ("INVITE", .left), ("STATE", .left), ("USED", .right), ("OF", .right),
          ("EXPIRES", .left), ("NOTE", .left))
        for invite in invites {
          table.add(
            invite.id.description, state(invite, now), String(invite.useCount),
            String(invite.useCountMax), invite.expires.description, invite.note)
        }
        return Answer(
          text: table.text,
          json: .array(
            invites.map { invite in
              [
                "invite": .string(invite.id.description), "state": .string(state(invite, now)),
                "used": .integer(invite.useCount), "uses": .integer(invite.useCountMax),
                "created": .string(invite.created.description),
                "expires": .string(invite.expires.description), "note": .string(invite.note),
              ]
            }), notice: notice)
      }
    })

  static let inviteRevoke = Command(
    words: ["invite", "revoke"],
    abstract: "Ends a code; accounts that it opened stay.",
    arguments: [Argument(name: "invite", text: "its id, as coffer invite list shows it")],
    run: { invocation in
      let id = try identifier(invocation.argument("invite"))
      return try Store.with(invocation) { database, configuration in
        let now = configuration.clock.now()
        let isFound = try database.write(for: nil) { transaction in
          try Invite.revoke(transaction, id, now: now)
        }
        guard isFound else {
          throw CommandFailure(.refused, "there is no invite \(id) that is not revoked")
        }
        return Answer(text: "revoked  \(id)\n", json: ["revoked": .string(id.description)])
      }
    })

  private static func identifier(_ text: String) throws(CommandFailure) -> Identifier {
    guard let id = Identifier(text) else {
      throw CommandFailure(.usage, "an invite is named by its id, a UUID")
    }
    return id
  }

  private static func invite(_ reader: Reader, _ text: String) throws -> Invite {
    let id = try identifier(text)
    guard let invite = try Invite.find(reader, id) else {
      throw CommandFailure(.refused, "there is no invite \(id)")
    }
    return invite
  }

  private static func state(_ invite: Invite, _ now: Instant) -> String {
    if invite.revoked != nil { return "revoked" }
    if invite.expires <= now { return "expired" }
    return invite.useCount < invite.useCountMax ? "open" : "used"
  }

  private static func number(
    _ invocation: Invocation, _ option: String, otherwise: Int64, max: Int64
  ) throws(CommandFailure) -> Int64 {
    guard let text = invocation.option(option) else { return otherwise }
    guard let number = Int64(text), 1...max ~= number else {
      throw CommandFailure(.usage, "\(option) takes a number from 1 to \(max)")
    }
    return number
  }
}
