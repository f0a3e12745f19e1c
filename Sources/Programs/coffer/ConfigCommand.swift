internal import Configuration
internal import JSON

extension Command {
  static let config = Command(
    words: ["config"],
    abstract: "Shows the configuration in effect, secrets hidden, and what is wrong with it.",
    discussion: "The settings given are checked; with --program also whether that program has "
      + "all it needs. Exit code 78 where it would not start.",
    options: [
      Option(
        name: "--program", value: "name",
        text: "coffer-sync or coffer-billing: check what this program needs"),
      Option(
        name: "--check-stripe", value: nil,
        text: "compare the event types of Stripe's webhook endpoints with those needed"),
    ],
    run: { invocation in
      if invocation.has("--check-stripe") { return try checkStripe(invocation) }
      let program = try program(invocation.option("--program"))
      let effective = EffectiveSettings(invocation.settings)
      let problems = EffectiveSettings.problems(invocation.settings, for: program)
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

  private static func program(_ text: String?) throws(CommandFailure) -> Program? {
    guard let text else { return nil }
    guard let program = Program(rawValue: text), program != .command else {
      throw CommandFailure(.usage, "--program takes coffer-sync or coffer-billing")
    }
    return program
  }
}
