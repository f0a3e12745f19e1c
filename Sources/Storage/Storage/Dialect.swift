/// The one SQL dialect for both engines, and the translation of migrations for PostgreSQL.
///
/// Statements other than migrations are not translated. They use `$1` parameters (bound by name on SQLite, which
/// numbers them by first appearance), schema-qualified tables, `ON CONFLICT`, `RETURNING` of bare columns and recursive
/// CTEs. They avoid what the engines read differently: `::`, TRUE and FALSE, `x'…'`, double-quoted strings, LIKE, FOR
/// UPDATE (an owner-row UPDATE is the lock), DEFERRABLE, DML in WITH, INSERT OR, AUTOINCREMENT, date functions and
/// `SELECT … FROM t ON CONFLICT` without `WHERE true`.
///
/// Further rules:
/// - Cast `sum()` to BIGINT.
/// - Write NULLS FIRST or LAST if an ordered column may be NULL.
/// - Qualify the old column in DO UPDATE.
/// - Give ids explicitly.
/// - Swap two unique values by way of NULL.
/// - Use a parameter that may be NULL only where its type is plain (an assignment, a comparison
///   with a column).
/// - Bound the terms of `+`, which overflows differently.
///
/// Migrations are written for SQLite, STRICT, with unqualified names and upper-case keywords. For
/// PostgreSQL they are translated word by word, outside literals and comments:
///
///     INTEGER         BIGINT
///     BLOB            BYTEA
///     TEXT            TEXT COLLATE "C"     bytes decide the order, as on SQLite
///     STRICT          nothing
///     WITHOUT ROWID   nothing
package enum Dialect {
  /// A piece of SQL. Literals, quoted names and comments are one piece each.
  package enum Token: Equatable, Sendable {
    case word(String)
    case space(String)
    case literal(String)
    case quoted(String)
    case comment(String)
    case symbol(String)

    package var text: String {
      switch self {
      case .word(let text), .space(let text), .literal(let text), .quoted(let text),
        .comment(let text), .symbol(let text):
        text
      }
    }

    var isFiller: Bool {
      switch self {
      case .space, .comment: true
      case .word, .literal, .quoted, .symbol: false
      }
    }
  }

  /// Translates a migration for PostgreSQL.
  package static func postgres(_ sql: String) -> String {
    withoutTableOptions(tokens(of: sql)).map { token in
      switch token {
      case .word("INTEGER"): "BIGINT"
      case .word("BLOB"): "BYTEA"
      case .word("TEXT"): "TEXT COLLATE \"C\""
      default: token.text
      }
    }.joined()
  }

  /// Drops `STRICT`, `WITHOUT ROWID` and the comma between them.
  private static func withoutTableOptions(_ tokens: [Token]) -> [Token] {
    var kept: [Token] = []
    var rest = tokens[...]
    while let token = rest.popFirst() {
      kept.append(token)
      guard token == .symbol(")") else { continue }
      while let length = optionLength(rest) { rest.removeFirst(length) }
    }
    return kept
  }

  /// The number of first tokens that form a table option with its comma and spaces; nil if there is none.
  private static func optionLength(_ tokens: ArraySlice<Token>) -> Int? {
    var words: [String] = []
    for (count, token) in tokens.enumerated() where !token.isFiller {
      if token == .symbol(","), words.isEmpty { continue }
      guard case .word(let word) = token else { return nil }
      words.append(word)
      if words == ["STRICT"] || words == ["WITHOUT", "ROWID"] { return count + 1 }
      guard words == ["WITHOUT"] else { return nil }
    }
    return nil
  }

  package static func tokens(of sql: String) -> [Token] {
    var rest = Substring(sql).unicodeScalars
    var tokens: [Token] = []
    while let first = rest.first {
      let length: Int
      let make: (String) -> Token
      switch first {
      case "'": (length, make) = (quotedLength(rest, by: first), Token.literal)
      case "\"": (length, make) = (quotedLength(rest, by: first), Token.quoted)
      case "-" where rest.dropFirst().first == "-":
        (length, make) = (rest.prefix { $0 != "\n" }.count, Token.comment)
      case "/" where rest.dropFirst().first == "*":
        (length, make) = (commentLength(rest), Token.comment)
      case _ where isWord(first): (length, make) = (rest.prefix(while: isWord).count, Token.word)
      case _ where first.properties.isWhitespace:
        (length, make) = (rest.prefix { $0.properties.isWhitespace }.count, Token.space)
      default: (length, make) = (1, Token.symbol)
      }
      tokens.append(make(String(rest.prefix(length))))
      rest = rest.dropFirst(length)
    }
    return tokens
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "_" || scalar == "$" || scalar.properties.isAlphabetic
      || scalar.properties.numericType != nil
  }

  /// The length up to the closing quote. A doubled quote begins the next piece, which gives the same text.
  private static func quotedLength(
    _ text: Substring.UnicodeScalarView, by quote: Unicode.Scalar
  ) -> Int {
    let inside = text.dropFirst().prefix { $0 != quote }.count
    return min(inside + 2, text.count)
  }

  private static func commentLength(_ text: Substring.UnicodeScalarView) -> Int {
    var previous: Unicode.Scalar = " "
    for (count, scalar) in text.enumerated() where count >= 2 {
      if scalar == "/", previous == "*", count >= 3 { return count + 1 }
      previous = scalar
    }
    return text.count
  }
}
