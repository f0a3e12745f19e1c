internal import CommandLine
internal import Configuration
internal import JSON

extension Command {
  private static let program = Parameter<Program?>.optional(
    "--program", "name",
    text: "also check what this program requires: coffer-sync or coffer-billing",
    .server)
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
        "settings": .list(["name": .text, "value": .orNull(.text), "from": .text]),
        "problems": .list(.text),
      ],
      ["needed": .list(.text), "not_compared": .text],
      ["needed": .list(.text), "endpoints": .list(["url": .text, "missing": .list(.text)])],
    ]),
    run: { invocation in
      if invocation[stripeCheck] { return try checkStripe(invocation) }
      let effective = EffectiveSettings(invocation.settings)
      let problems = EffectiveSettings.problems(invocation.settings, for: invocation[program])
      var table = Table(("SETTING", .left), ("VALUE", .left), ("FROM", .left))
      for row in effective.rows {
        table.add(row.name, row.isSet ? row.shown : "(\(row.shown))", row.origin)
      }
      var text = table.text
      if !problems.isEmpty { text += "\nproblems:\n" + problems.map { "  \($0)\n" }.joined() }
      return Answer(
        code: problems.isEmpty ? .ok : .configuration, text: text,
        json: [
          "settings": .array(
            effective.rows.map { row in
              [
                "name": .string(row.name), "value": row.isSet ? .string(row.shown) : .null,
                "from": .string(row.origin),
              ]
            }),
          "problems": .array(problems.map { .string($0) }),
        ])
    })
}

extension Form where Value == Program {
  /// One of the two servers.
  fileprivate static var server: Form {
    let servers = Program.allCases.filter { $0 != .command }
    return Form(completion: .words(servers.map(\.rawValue))) {
      (text, name) throws(CommandFailure) in
      if let program = servers.first(where: { $0.rawValue == text }) { return program }
      throw CommandFailure(
        .usage, "\(name) takes \(servers.map(\.rawValue).joined(separator: " or "))")
    }
  }
}
