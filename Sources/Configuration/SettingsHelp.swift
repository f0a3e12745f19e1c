/// The settings as text: for `--help` and for the documents, both from the same rows.
package enum SettingsHelp {
  /// One paragraph for each setting of `program`.
  package static func text(for program: Program) -> String {
    Key.allCases.filter { $0.documentation.programs.contains(program) }.map { key in
      let row = key.documentation
      return "  \(key.rawValue)  [\(fallback(row, for: program))]\n"
        + wrapped(row.text, indent: "      ", width: 80)
        + "      example: \(row.example)\n"
    }.joined()
  }

  /// The table of docs/settings.md.
  package static func markdown() -> String {
    var text = "| setting | programs | default | what it is | example |\n|---|---|---|---|---|\n"
    for key in Key.allCases {
      let row = key.documentation
      text += "| `\(key.rawValue)` | \(row.programs.map(\.rawValue).joined(separator: ", ")) "
      text += "| \(row.fallback.text) | \(row.text) | `\(row.example)` |\n"
    }
    return text
  }

  /// The exit codes, one to a line.
  package static func exitCodes() -> String {
    ExitCode.allCases.map { code in
      let number = String(code.rawValue)
      return "  " + String(repeating: " ", count: 2 - number.count) + number + "  "
        + code.meaning + "\n"
    }.joined()
  }

  private static func fallback(_ row: Documentation, for program: Program) -> String {
    switch row.fallback {
    case .requiredBy(let programs) where !programs.contains(program): "optional"
    case .requiredBy, .required: "required"
    case .value, .meaning: "default: " + row.fallback.text
    }
  }

  /// The table of exit codes in docs/operating.md, below its head.
  package static func exitCodeRows() -> String {
    ExitCode.allCases.map { "| \($0.rawValue) | \($0.meaning) |\n" }.joined()
  }

  /// Breaks at spaces so that no line is longer than `width`, save for a single long word.
  package static func wrapped(_ text: String, indent: String, width: Int) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent.count + line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    lines.append(line)
    return lines.map { indent + $0 + "\n" }.joined()
  }
}
