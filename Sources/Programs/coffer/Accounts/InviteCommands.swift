import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Storage

extension Command {
  private static let uses = Parameter<Int64>.optional(
    "--uses", "count", text: { "number of accounts it can create (default: \($0))" },
    .number(in: 1...1_000_000), otherwise: 1)
  private static let days = Parameter<Int64>.optional(
    "--days", "count", text: { "days until it expires (default: \($0))" },
    .number(in: 1...3650), otherwise: 7)
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Identifier?>.optional(
    "--after", "invite", text: "start after this invite", .uuid(of: "an invite"))
  private static let invite = Parameter<Identifier>.required(
    "invite", text: "invite id, as in coffer invite list", .uuid(of: "an invite"))

  static let inviteCreate = Command(
    words: ["invite", "create"],
    abstract: "Create an invite code for new accounts",
    discussion: """
      If COFFER_REGISTRATION is invite, a client sends the code as the member invite of POST /v1/accounts. \
      The code is printed once; only its hash is stored.
      """,
    examples: ["coffer invite create --uses 5 --days 14"],
    options: [uses, days] + Act.handyOptions,
    answers: Act.handyAnswers([
      "invite": .text, "code": .text, "uses": .integer, "expires": .time,
    ]),
    run: { invocation in
      let (uses, note) = (invocation[uses], invocation[Act.remark] ?? "")
      return try Act.atOnce(invocation) { transaction, now in
        let expires = now + .days(invocation[days])
        let made = try Invite.create(
          transaction, useCountMax: uses, expires: expires, note: note, now: now)
        let code = String(decoding: made.code.exposed, as: UTF8.self)
        return Act.Effect(
          subject: made.id.description, before: .object([]),
          after: ["uses": .integer(uses), "expires": .string(expires.description)],
          text: "invite   \(made.id)\ncode     \(code)\nexpires  \(expires)\n",
          members: [
            .init("invite", .string(made.id.description)), .init("code", .string(code)),
            .init("uses", .integer(uses)), .init("expires", .string(expires.description)),
          ])
      }
    })

  static let inviteList = Command(
    words: ["invite", "list"],
    abstract: "List invites, newest first",
    discussion: """
      The codes themselves are not stored. coffer account show says which invite created an account.
      """,
    examples: ["coffer invite list"],
    options: [limit, after],
    answers: invites(at: .distantPast).shape,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let listing = invites(at: now)
        let last = try invocation[after].map { try find($0, reader) }
        let page = try listing.page(invocation, by: \.id.description) {
          try Invite.list(reader, after: last, limit: $0)
        }
        return listing.answer(page, at: now, notice: try page.notice { try Invite.count(reader) })
      }
    })

  private static func invites(at now: Instant) -> Listing<Invite> {
    Listing(
      "invites",
      [
        .text("invite", "INVITE") { $0.id.description },
        .text("state", "STATE") { $0.state(at: now).rawValue },
        .integer("used", "USED") { $0.useCount }, .integer("uses", "OF") { $0.useCountMax },
        .time("created") { $0.created }, .time("expires", "EXPIRES") { $0.expires },
        .text("note", "NOTE") { $0.note },
      ], tint: { $0.state(at: now) == .open ? nil : .past })
  }

  static let inviteRevoke = Command(
    words: ["invite", "revoke"],
    abstract: "Revoke an invite code",
    discussion: "Accounts that it created stay.",
    examples: ["coffer invite revoke <id> --reason \"leaked\" --yes"],
    arguments: [invite],
    options: Act.options,
    answers: Act.answers(["revoked": .text]),
    run: { invocation in
      let id = invocation[invite]
      return try Act.whenConfirmed(invocation) { transaction, now in
        guard let revoked = try Invite.revoke(transaction, id, now: now) else {
          throw CommandFailure(.refused, "there is no invite \(id) that is not revoked")
        }
        return Act.Effect(
          subject: id.description,
          before: [
            "state": .string(revoked.stateUnlessRevoked(at: now).rawValue),
            "used": .integer(revoked.useCount), "uses": .integer(revoked.useCountMax),
          ],
          after: [
            "state": "revoked", "used": .integer(revoked.useCount),
            "uses": .integer(revoked.useCount),
          ], text: "revoked  \(id)\n", members: [.init("revoked", .string(id.description))])
      }
    })

  private static func find(_ id: Identifier, _ reader: Reader) throws -> Invite {
    guard let invite = try Invite.find(reader, id) else {
      throw CommandFailure(.refused, "there is no invite \(id)")
    }
    return invite
  }
}
