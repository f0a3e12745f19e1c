package import Audit
package import Base
package import CommandLine
package import Configuration
package import JSON
import Ledger
package import Storage

/// A change by an operator's command. The state before and after is shown. The audit log records
/// both, the actor and the reason, in the transaction that makes the change.
///
/// What gives or takes something waits for --yes. What only adds or repeats runs at once; a reason
/// is recorded if one is given.
package struct Act: Sendable {
  private let invocation: Invocation
  private var database: Database
  private let actor: String
  private let clock: Clock

  /// What an act did in its transaction, or would do there.
  package struct Effect: Sendable {
    /// The object of the act.
    package let subject: String
    /// The object's name for people. It is not in the log, which no one can change when a person's
    /// data is erased.
    package var name: String?
    /// The account that the act is about.
    package var account: Identifier?
    /// The account that loses something to that account.
    package var formerAccount: Identifier?
    /// Names for people of the accounts whose ids are in `before` and `after`. They are not in the
    /// log either.
    package var names: [Identifier: String]
    /// Objects with the same members, none of them secret.
    package var before: JSONValue
    package var after: JSONValue
    /// The text that is printed once it is done.
    package var text: String
    package var members: [JSONValue.Member]
    /// The step of the act that its entry records, if each step has an entry: `ordered`.
    package var step: String?
    /// Writes in the same transaction, once the act has its entry, which gives it its name.
    package var noted: @Sendable (AuditEntry, Transaction) throws -> Void

    package init(
      subject: String, name: String? = nil, account: Identifier? = nil,
      formerAccount: Identifier? = nil, names: [Identifier: String] = [:], before: JSONValue,
      after: JSONValue, text: String = "", members: [JSONValue.Member] = [], step: String? = nil,
      noted: @escaping @Sendable (AuditEntry, Transaction) throws -> Void = { _, _ in }
    ) {
      self.subject = subject
      self.name = name
      self.account = account
      self.formerAccount = formerAccount
      self.names = names
      self.before = before
      self.after = after
      self.text = text
      self.members = members
      self.step = step
      self.noted = noted
    }
  }

  /// Reads the grounds of a decision, and decides, in a transaction next to which no other decides.
  /// For the ledger this holds from its first statement on. For an account, or anything else that
  /// coffer-sync writes, the body locks the row (`DatabaseSession.lockedAccount`). It gets the moment from
  /// which no other decides, so the times of two acts are in the order in which they are done.
  package typealias Body = @Sendable (Transaction, Instant) throws -> Effect

  /// What was shown longer ago is not done any more: its times and its grounds would be outdated.
  private static let answerSpan = Instant.Span.minutes(1)

  package init(_ invocation: Invocation, on database: Database) throws(ConfigurationError) {
    self.invocation = invocation
    self.database = database
    actor = try Actor.name(invocation.settings)
    clock = try DatabaseConfiguration.clock(invocation.settings)
  }

  /// Shows what would change, by doing it and undoing it. Does it if --yes is given or a person at
  /// the terminal agrees. The command takes `options`. `then` continues with what no transaction does.
  package func whenConfirmed(
    _ body: @escaping Body, then: (AuditEntry, Answer) throws -> Answer = { $1 }
  ) throws -> Answer {
    if invocation[Self.yes] {
      let (effect, entry) = try done(because: invocation[Self.reason], body)
      return try then(entry, answer(effect, entry, text: text(effect)))
    }
    let shown = try rehearsed(body)
    if !invocation[CommonOptions.json], Terminal.isThere {
      print(text(shown), terminator: "")
      guard try isAgreed() else { return refusal(shown, repeating: false) }
      let (effect, entry) = try done(because: invocation[Self.reason]) { transaction, now in
        let effect = try body(transaction, now)
        guard effect.before == shown.before else {
          throw CommandFailure(.refused, "it has changed since it was shown; look again")
        }
        return effect
      }
      return try then(entry, answer(effect, entry, text: ""))
    }
    return refusal(shown, repeating: true)
  }

  /// An act that needs nothing but its transaction.
  package static func whenConfirmed(
    _ invocation: Invocation, owning schema: Schema = .sync, _ body: @escaping Body
  ) throws -> Answer {
    try DatabaseSession.withAnyCatalogue(invocation, owning: schema) { database, _ in
      try Act(invocation, on: database).whenConfirmed(body)
    }
  }

  /// For acts of several transactions, or with more to show than before and after. `shown` returns what would
  /// change. If --yes is given or a person at the terminal agrees, `done` does it and records it.
  package func whenAgreed(shown: () throws -> Answer, done: () throws -> Answer) throws -> Answer {
    if invocation[Self.yes] { return try done() }
    let answer = try shown()
    let isAsked = !invocation[CommonOptions.json] && Terminal.isThere
    if isAsked {
      print(answer.text, terminator: "")
      if try isAgreed() { return try done() }
    }
    return Answer(
      code: .unconfirmed, text: isAsked ? "" : answer.text, json: answer.json,
      notice: Self.undoneNotice)
  }

  /// Whether the person at the terminal agrees, before what was shown is outdated.
  private func isAgreed() throws(CommandFailure) -> Bool {
    let shown = clock.now()
    guard Terminal.agrees("do it?") else { return false }
    guard clock.now() - shown <= Self.answerSpan else {
      throw CommandFailure(.refused, "it was shown more than a minute ago; look again")
    }
    return true
  }

  private static let undoneNotice = "no changes made; --yes applies them"

  /// Does it at once; the command takes `handyOptions`.
  package func atOnce(
    at now: Instant, _ body: @escaping @Sendable (Transaction) throws -> Effect
  ) throws -> Answer {
    let (effect, entry) = try done(at: now, because: nil) { transaction, _ in
      try body(transaction)
    }
    return Answer(
      text: effect.text,
      json: .object(effect.members + [.init("audit", .string(entry.name.description))]))
  }

  /// An act that is done at once, and needs nothing but its transaction.
  package static func atOnce(
    _ invocation: Invocation, owning schema: Schema = .sync, _ body: @escaping Body
  ) throws -> Answer {
    try DatabaseSession.withAnyCatalogue(invocation, owning: schema) { database, configuration in
      let now = configuration.clock.now()
      return try Act(invocation, on: database).atOnce(at: now) { try body($0, now) }
    }
  }

  /// The same act, for writes to the other schema of the database.
  package func on(_ other: Database) -> Act {
    var act = self
    act.database = other
    return act
  }

  /// Adds the entry of an act to the log, for callers with their own transaction. If `reason` is
  /// nil, the entry gets the one that was given by `handyOptions`.
  @discardableResult
  package func note(
    _ effect: Effect, because reason: String? = nil, at now: Instant, in transaction: Transaction
  ) throws -> AuditEntry {
    let reason = reason ?? invocation[Self.remark] ?? ""
    return try AuditLog.append(
      AuditLog.Draft(
        actor: actor, act: invocation.name + (effect.step.map { ": \($0)" } ?? ""),
        subject: effect.subject, account: effect.account,
        formerAccount: effect.formerAccount, reason: reason, before: effect.before,
        after: effect.after), to: database.owned, at: now, in: transaction)
  }

  private func done(
    at now: Instant? = nil, because reason: String?, _ body: @escaping Body
  ) throws -> (Effect, AuditEntry) {
    try database.write(for: nil) { transaction in
      try lock(in: transaction)
      let now = now ?? clock.now()
      let effect = try body(transaction, now)
      let entry = try note(effect, because: reason, at: now, in: transaction)
      try effect.noted(entry, transaction)
      return (effect, entry)
    }
  }

  /// The sequence is locked before everything else, as by all who write to the ledger.
  private func lock(in transaction: Transaction) throws {
    if database.owned == .billing { try LedgerSequence.lock(in: transaction) }
  }

  private func answer(_ effect: Effect, _ entry: AuditEntry, text: String) -> Answer {
    Answer(
      text: text + effect.text + "audit  \(entry.name)\n",
      json: json(effect, effect.members, entry: .string(entry.name.description)))
  }

  private func rehearsed(_ body: @escaping Body) throws -> Effect {
    try database.rehearse { transaction in
      try lock(in: transaction)
      return try body(transaction, clock.now())
    }
  }

  private func refusal(_ shown: Effect, repeating: Bool) -> Answer {
    Answer(
      code: .unconfirmed, text: repeating ? text(shown) : "",
      json: json(shown, [], entry: .null), notice: Self.undoneNotice)
  }

  private func text(_ effect: Effect) -> String {
    Printable.text("\(invocation.name) \(effect.subject)" + (effect.name.map { " (\($0))" } ?? ""))
      + "\n" + BeforeAfter.text(effect.before, effect.after, names: effect.names)
  }

  /// The command's own members come first.
  private func json(
    _ effect: Effect, _ members: [JSONValue.Member], entry: JSONValue
  ) -> JSONValue {
    .object(
      members + [
        .init("act", .string(invocation.name)), .init("subject", .string(effect.subject)),
        .init("before", effect.before), .init("after", effect.after),
        .init("done", .bool(entry != .null)), .init("audit", entry),
      ])
  }
}

extension Act {
  /// The options of a command that waits for confirmation.
  package static let options: [any AnyParameter] = [reason, yes]
  /// The options of a command that runs at once.
  package static let handyOptions: [any AnyParameter] = [remark]

  /// The JSON of a command that waits for confirmation. The members of `own` are there once it is done.
  package static func answers(_ own: JSONShape) -> JSONShape {
    guard case .object(let members) = own else { preconditionFailure("an act has members") }
    return .object(
      members.map { .init($0.name, $0.shape, isOptional: true) } + [
        .init("act", .text), .init("subject", .text), .init("before", .anything),
        .init("after", .anything), .init("done", .bool), .init("audit", .orNull(.text)),
      ])
  }

  /// The JSON of a command that runs at once.
  package static func handyAnswers(_ own: JSONShape) -> JSONShape {
    own.adding([.init("audit", .text)])
  }

  package static let yes = Parameter<Bool>.flag(
    "--yes", text: "apply the change; without it, print the change and ask on a terminal")
  package static let reason = Parameter<String>.required(
    "--reason", "text", text: "reason, recorded in the audit log", .reason)
  package static let remark = Parameter<String?>.optional(
    "--reason", "text", text: "reason, recorded in the audit log", .reason)
}

/// Two objects with the same members, side by side.
package enum BeforeAfter {
  /// `names` of accounts are shown in place of their ids.
  package static func text(
    _ before: JSONValue, _ after: JSONValue, names: [Identifier: String] = [:]
  ) -> String {
    let (old, new) = (members(before), members(after))
    let members =
      old.map(\.name) + new.map(\.name).filter { name in !old.contains { $0.name == name } }
    var table = Table(("", .left), ("BEFORE", .left), ("AFTER", .left))
    func shown(_ text: String) -> String { Identifier(text).flatMap { names[$0] } ?? text }
    for member in members {
      table.add(member, shown(value(member, of: old)), shown(value(member, of: new)))
    }
    return table.text
  }

  private static func members(_ value: JSONValue) -> [JSONValue.Member] {
    if case .object(let members) = value { members } else { [] }
  }

  private static func value(_ name: String, of members: [JSONValue.Member]) -> String {
    let value = members.first { $0.name == name }?.value ?? .null
    if case .integer(let count) = value, isByteCount(name) { return size(count) }
    return text(value)
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): text
    case .null: "-"
    case .bool(let value): value ? "yes" : "no"
    case .integer(let number): String(number)
    case .array(let values): values.isEmpty ? "-" : values.map(text).joined(separator: ", ")
    case .object(let members):
      members.map { "\($0.name) \(text($0.value))" }.joined(separator: " ")
    }
  }

  private static func isByteCount(_ name: String) -> Bool {
    ["cap", "quota", "fee", "bytes", "usage_bytes"].contains(name) || name.hasPrefix("plan ")
  }

  /// The size in units for people if that is exact: two different sizes must not look alike.
  private static func size(_ count: Int64) -> String {
    var unit: Int64 = 1
    while count / unit >= 1000 { unit *= 1000 }
    return count % max(1, unit / 10) == 0 ? ByteCount.text(count) : "\(count.grouped) B"
  }
}
