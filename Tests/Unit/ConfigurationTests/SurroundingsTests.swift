import Configuration
import KnownStores
import Testing

/// Characters around a value, tried on every setting.
struct SurroundingsTests {
  /// A blank, a quote or a comment before or after a value, and its name in a refusal.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let before: String
    let after: String
    let name: String

    var testDescription: String { name + (before.isEmpty ? " behind" : " in front") }

    func around(_ value: String) -> String { before + value + after }
  }

  static let mistakes: [Mistake] =
    [
      (" ", "a space"), ("\t", "a tab"), ("\r", "a carriage return"), ("\n", "a line end"),
      ("\u{A0}", "a non-breaking space (U+00A0)"), ("\u{200B}", "(U+200B)"),
      ("\u{FEFF}", "(U+FEFF)"), ("\u{3000}", "(U+3000)"), ("\"", "the quote \""),
      ("'", "the quote '"), ("\u{201C}", "the quote \u{201C}"),
    ].flatMap { text, name in
      [Mistake(before: text, after: "", name: name), Mistake(before: "", after: text, name: name)]
    } + [
      Mistake(before: "", after: " # the value", name: "a comment"),
      Mistake(before: "", after: "\t#", name: "a comment"),
    ]

  private func problems(of setting: some AnySetting, given text: String) -> [String] {
    var reader = SettingsReader(
      Settings(.coffer, environment: [setting.name: text]), for: .command)
    _ = reader.value(setting)
    return reader.problems.map(\.text)
  }

  @Test(arguments: mistakes) func `no setting takes what surrounds its value`(mistake: Mistake) {
    for setting in SettingsTable.coffer.rows {
      let text = mistake.around(setting.example)
      let problems = problems(of: setting, given: text)
      #expect(problems.count == 1, "\(setting.name): \(problems)")
      let problem = problems.first ?? ""
      #expect(problem.hasPrefix("\(setting.name) (environment): "))
      #expect(problem.contains(mistake.name))
      #expect(problem.contains(setting.example) == !setting.isSecret(text), "\(problem)")
    }
  }

  @Test(arguments: mistakes) func `no part of a list is taken with what surrounds it`(
    mistake: Mistake
  ) {
    let lists = SettingsTable.coffer.rows.filter { $0.text.hasPrefix("Comma list") }
    #expect(lists.count >= 10)
    for setting in lists {
      // The list's own grammar trims blanks around its parts. A comment there stays attached to its part.
      guard ![" ", "\t", "\r"].contains(mistake.before + mistake.after) else { continue }
      let part = setting.example.split(separator: ",")[0]
      let text = "a,\(mistake.around(String(part))),b"
      let problems = problems(of: setting, given: text)
      #expect(problems.contains { $0.contains(mistake.name) }, "\(setting.name): \(problems)")
      #expect(!setting.isSecret(text) || !problems.contains { $0.contains(part) })
    }
  }

  @Test(arguments: ["", " ", "\t", "\r", " \t\r"])
  func `a file means the same whatever its grammar takes off`(blanks: String) throws {
    for setting in SettingsTable.coffer.rows where setting.name != "COFFER_CONFIG" {
      for quote in ["", "\"", "'"] {
        let line = blanks + setting.name + blanks + "=" + blanks + quote + setting.example + quote
        let file = try ScratchFile("\u{FEFF}# of Windows\r\n" + line + blanks + "\r\n")
        let settings = Settings(.coffer, environment: [:], configPath: file.path)
        #expect(settings.values[setting.name]?.text == setting.example)
      }
    }
  }

  @Test(arguments: mistakes) func `no quotes of a file hold what surrounds a value`(
    mistake: Mistake
  ) throws {
    guard ![mistake.before, mistake.after].contains(where: { $0.contains("\n") }) else { return }
    let place = "sqlite:///nowhere/db"
    let file = try ScratchFile("COFFER_DATABASE='\(mistake.around(place))'\n")
    #expect(throws: ConfigurationError.self) {
      _ = try DatabaseConfiguration(Settings(.coffer, environment: [:], configPath: file.path))
    }
  }

  @Test func `a comment behind quotes is called one`() throws {
    let file = try ScratchFile("COFFER_MODE=\"test\" # for now\n")
    let settings = Settings(.coffer, environment: [:], configPath: file.path)
    #expect(
      SettingsReader(settings, for: .command).problems.map(\.text) == [
        "\(file.path):1: has text after the closing quote; put comments on their own lines"
      ])
  }

  @Test func `examples and defaults stand alone`() {
    for setting in SettingsTable.coffer.rows {
      #expect(Surroundings.refusal(of: setting.example) == nil)
      if case .value(let text) = setting.absence { #expect(Surroundings.refusal(of: text) == nil) }
    }
  }

  @Test func `what a value is refused for names it in quotes unless it is a secret`() {
    let text = "no such value"
    for setting in SettingsTable.coffer.rows {
      for problem in problems(of: setting, given: text) {
        #expect(problem.contains("\"\(text)\"") == !setting.isSecret(text), "\(problem)")
      }
    }
  }

  @Test func `what cannot be seen is shown by its number`() {
    #expect(quoted("a b\u{A0}\r\u{200B}") == "\"a b\\u{A0}\\u{D}\\u{200B}\"")
  }
}
