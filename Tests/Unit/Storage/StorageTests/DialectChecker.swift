import Glibc
import Storage

/// The short names of everything in a statement or migration that the two engines would read differently.
func dialectViolations(_ sql: String) -> [String] {
  let tokens = Dialect.tokens(of: sql)
  let words = tokens.words
  var found: [String] = []
  func report(_ name: String, if isFound: Bool) { if isFound { found.append(name) } }
  func has(_ sequence: String...) -> Bool { words.contains(sequence: sequence) }

  for word in [
    "TRUE", "FALSE", "LIKE", "DEFERRABLE", "AUTOINCREMENT", "DATETIME", "STRFTIME", "JULIANDAY",
    "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "NOW", "BEGIN", "COMMIT", "ROLLBACK",
    "ILIKE", "GLOB",
  ] {
    // `WHERE true` before ON CONFLICT is the only boolean that both engines need.
    let isNeeded = word == "TRUE" && has("WHERE", "TRUE", "ON", "CONFLICT")
    report(word, if: has(word) && !isNeeded)
  }
  report("::", if: words.contains(sequence: [":", ":"]))
  report("?", if: has("?"))
  report("\"", if: tokens.contains { if case .quoted = $0 { true } else { false } })
  report(
    "x'",
    if: zip(tokens, tokens.dropFirst()).contains { first, second in
      guard case .literal = second, case .word(let word) = first else { return false }
      return word.uppercased() == "X"
    })
  report("FOR UPDATE", if: has("FOR", "UPDATE"))
  report("INSERT OR", if: has("INSERT", "OR"))
  report("REPLACE INTO", if: has("REPLACE", "INTO"))
  report(
    "REFERENCES schema.", if: has("REFERENCES", "SYNC", ".") || has("REFERENCES", "BILLING", "."))
  for verb in ["INSERT", "UPDATE", "DELETE"] { report("DML in WITH", if: has("AS", "(", verb)) }
  let isCast = has("CAST", "(", "SUM") || has("CAST", "(", "COALESCE", "(", "SUM")
  report("sum() without CAST", if: has("SUM", "(") && !isCast)
  report(
    "LIMIT a, b",
    if: words.indices.contains { index in
      words[index] == "LIMIT" && words.dropFirst(index + 2).first == ","
    })
  report("SELECT … ON CONFLICT", if: selectsIntoConflict(words))
  return found
}

/// True for `INSERT … SELECT … ON CONFLICT` if the SELECT does not end in a WHERE. SQLite would read the ON
/// as a join's (https://sqlite.org/lang_UPSERT.html, "Parsing Ambiguity").
private func selectsIntoConflict(_ words: [String]) -> Bool {
  guard words.first == "INSERT", let conflict = words.firstIndex(sequence: ["ON", "CONFLICT"]),
    let select = words[..<conflict].firstIndex(of: "SELECT")
  else { return false }
  return !words[select..<conflict].contains("WHERE")
}

extension [Dialect.Token] {
  /// Words and symbols in upper case, without spaces, comments and literals.
  var words: [String] {
    compactMap { token in
      switch token {
      case .word(let text), .symbol(let text): text.uppercased()
      case .space, .comment, .literal, .quoted: nil
      }
    }
  }
}

extension [String] {
  func firstIndex(sequence: [String]) -> Int? {
    indices.first { self[$0...].starts(with: sequence) }
  }

  func contains(sequence: [String]) -> Bool { firstIndex(sequence: sequence) != nil }
}
