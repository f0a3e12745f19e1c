internal import Configuration
internal import JSON

extension Command {
  private static let program = Parameter<Program?>.optional(
    "--program", "name", text: "coffer-sync or coffer-billing: check what this program needs",
    .server)
  private static let stripeCheck = Parameter<Bool>.flag(
    "--check-stripe",
    text: "compare the event types of Stripe's webhook endpoints with those needed")

  static let config = Command(
    words: ["config"],
    abstract: "Shows the configuration in effect, secrets hidden, and what is wrong with it.",
    discussion: "The settings given are checked; with --program also whether that program has "
      + "all it needs. Exit code 78 where it would not start.",
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
  /// One of the two that serve.
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
