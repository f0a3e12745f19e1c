import Base
import CommandLine
import Configuration
import JSON

extension Command {
  private static let program = Parameter<Program?>.optional(
    "--program", "name",
    text: "also check what this program requires: coffer-sync or coffer-billing", .server)
  private static let stripeCheck = Parameter<Bool>.flag(
    "--check-stripe",
    text: "compare event types of the Stripe webhook endpoints with those required")

  static let config = Command(
    words: ["config"],
    abstract: "Show the effective settings and their errors",
    discussion: """
      Secrets are hidden. The settings that are present are checked. With --program, the command also \
      checks that the program has every setting it requires. The exit code is 78 if the program would not \
      start.
      """,
    examples: ["coffer config --program coffer-billing"],
    options: [program, stripeCheck],
    answers: .oneOf([
      [
        "settings": .list(rows.item),
        "problems": .list(.text),
      ],
      ["needed": .list(.text), "not_compared": .text],
      ["needed": .list(.text), "endpoints": .list(["url": .text, "missing": .list(.text)])],
    ]),
    run: { invocation in
      if invocation[stripeCheck] { return try checkStripe(invocation) }
      let effective = EffectiveSettings(invocation.settings)
      let problems = EffectiveSettings.problems(invocation.settings, for: invocation[program])
      var text = rows.text(effective.rows, at: .distantPast)
      if !problems.isEmpty { text += "\nproblems:\n" + problems.map { "  \($0)\n" }.joined() }
      return Answer(
        code: problems.isEmpty ? .ok : .configuration, text: text,
        json: [
          "settings": rows.array(effective.rows), "problems": .array(problems.map { .string($0) }),
        ])
    })

  private static var rows: Listing<EffectiveSettings.Row> {
    Listing([
      .text("name", "SETTING") { $0.name },
      Column(
        "value", .orNull(.text), "VALUE", json: { $0.isSet ? .string($0.shown) : .null },
        cell: { row, _ in row.isSet ? row.shown : "(\(row.shown))" }),
      .text("from", "FROM") { $0.origin },
    ])
  }
}

extension Form where Value == Program {
  fileprivate static var server: Form {
    let servers = Program.allCases.filter { $0 != .command }
    return Form(completion: .words(servers.map(\.rawValue))) { text in
      servers.first { $0.rawValue == text }
    } refusal: {
      "\($1) takes \(servers.map(\.rawValue).joined(separator: " or "))"
    }
  }
}
