/// The settings as text: for `--help` and for the documents, both from the same rows.
package enum SettingsHelp {
  /// One paragraph for each setting that `program` reads.
  package static func text(_ table: SettingsTable, for program: Program) -> String {
    table.rows.filter { $0.programs.contains(program) }.map { row in
      "  \(row.name)  [\(absence(of: row, for: program))]\n"
        + wrapped(row.text, indent: "      ", width: 80)
        + "      example: \(row.example)\n"
    }.joined()
  }

  /// The table of docs/settings.md.
  package static func markdown(_ table: SettingsTable) -> String {
    var text = "| setting | programs | default | what it is | example |\n|---|---|---|---|---|\n"
    for row in table.rows {
      text += "| `\(row.name)` | \(row.programs.map(\.rawValue).joined(separator: ", ")) "
      text += "| \(row.absence.text) | \(row.text) | `\(row.example)` |\n"
    }
    return text
  }

  /// The file of settings that a package installs: each explained, none set.
  package static func file(_ table: SettingsTable) -> String {
    table.rows.filter { $0.name != SharedSettings.config.name }.map { row in
      let programs = row.programs.map(\.rawValue).joined(separator: ", ")
      return wrapped(row.text, indent: "# ", width: 98)
        + wrapped("Read by \(programs). Unless set: \(row.absence.text).", indent: "# ", width: 98)
        + "#\(row.name)=\(row.example)\n"
    }.joined(separator: "\n")
  }

  /// The exit codes, one to a line.
  package static func exitCodes() -> String {
    ExitCode.allCases.map { code in
      let number = String(code.rawValue)
      return "  " + String(repeating: " ", count: 2 - number.count) + number + "  "
        + code.meaning + "\n"
    }.joined()
  }

  private static func absence(of row: any AnySetting, for program: Program) -> String {
    switch row.absence {
    case .requiredBy(let programs) where !programs.contains(program): "optional"
    case .requiredBy, .required: "required"
    case .value, .values, .meaning: "default: " + row.absence.text
    }
  }

  /// The table of exit codes in docs/commands.md, below its head.
  package static func exitCodeRows() -> String {
    ExitCode.allCases.map { "| \($0.rawValue) | \($0.meaning) |\n" }.joined()
  }

  /// Breaks lines at spaces so that none is longer than `width`, except for a single long word.
  package static func wrapped(_ text: String, indent: String, width: Int) -> String {
    lines(text.split(separator: " "), width: width - indent.count)
      .map { indent + $0 + "\n" }.joined()
  }

  /// Words as lines, none longer than `width`, except for a single long word.
  package static func lines(_ words: [Substring], width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in words {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [line]
  }
}
