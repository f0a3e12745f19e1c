import Glibc
import Migrations
import Storage
import TestFiles
import Testing

@Suite struct DialectTests {
  @Test(arguments: [
    ("CREATE TABLE t (a INTEGER);", "CREATE TABLE t (a BIGINT);"),
    ("CREATE TABLE t (a BLOB);", "CREATE TABLE t (a BYTEA);"),
    ("CREATE TABLE t (a TEXT NOT NULL);", "CREATE TABLE t (a TEXT COLLATE \"C\" NOT NULL);"),
    ("CREATE TABLE t (a INTEGER) STRICT;", "CREATE TABLE t (a BIGINT);"),
    ("CREATE TABLE t (a INTEGER) WITHOUT ROWID;", "CREATE TABLE t (a BIGINT);"),
    ("CREATE TABLE t (a INTEGER) STRICT, WITHOUT ROWID;", "CREATE TABLE t (a BIGINT);"),
    ("CREATE TABLE t (a INTEGER)\n  WITHOUT ROWID , STRICT;", "CREATE TABLE t (a BIGINT);"),
    ("CHECK (kind IN ('TEXT', 'INTEGER'))", "CHECK (kind IN ('TEXT', 'INTEGER'))"),
    ("-- INTEGER or BLOB, STRICT\nSELECT 1", "-- INTEGER or BLOB, STRICT\nSELECT 1"),
    ("/* TEXT */ a INTEGER", "/* TEXT */ a BIGINT"),
    ("INTEGERS TEXTUAL a_BLOB", "INTEGERS TEXTUAL a_BLOB"),
    ("'it''s INTEGER' INTEGER", "'it''s INTEGER' BIGINT"),
  ])
  func `migrations become PostgreSQL's word by word`(sqlite: String, postgres: String) {
    #expect(Dialect.postgres(sqlite) == postgres)
  }

  @Test(arguments: [
    ("SELECT $1::text", "::"), ("SELECT a FROM t WHERE b = TRUE", "TRUE"),
    ("UPDATE t SET a = false", "FALSE"), ("SELECT x'00'", "x'"), ("SELECT X'00'", "x'"),
    ("SELECT a FROM t FOR UPDATE", "FOR UPDATE"), ("SELECT a FROM t WHERE a LIKE 'b'", "LIKE"),
    ("a INTEGER REFERENCES b DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE"),
    ("SELECT \"a\" FROM t", "\""), ("INSERT OR IGNORE INTO t (a) VALUES (1)", "INSERT OR"),
    ("id INTEGER PRIMARY KEY AUTOINCREMENT", "AUTOINCREMENT"),
    ("SELECT datetime('now')", "DATETIME"),
    ("SELECT CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"), ("SELECT now()", "NOW"),
    ("WITH a AS (DELETE FROM t RETURNING b) SELECT b FROM a", "DML in WITH"),
    ("INSERT INTO t (a) SELECT a FROM u ON CONFLICT DO NOTHING", "SELECT … ON CONFLICT"),
    ("SELECT sum(a) FROM t", "sum() without CAST"), ("SELECT a FROM t WHERE b = ?", "?"),
    ("REPLACE INTO t (a) VALUES (1)", "REPLACE INTO"),
    ("SELECT a FROM t LIMIT 5, 10", "LIMIT a, b"),
    ("REFERENCES sync.accounts (id)", "REFERENCES schema."), ("BEGIN; SELECT 1", "BEGIN"),
  ])
  func `what the engines read differently is found`(sql: String, violation: String) {
    #expect(dialectViolations(sql).contains(violation))
  }

  @Test(arguments: [
    "SELECT a FROM sync.t WHERE a = $1 AND kind = 'LIKE TRUE :: \"x\"' ORDER BY a",
    "INSERT INTO sync.t (a) SELECT a FROM sync.u WHERE true ON CONFLICT (a) DO NOTHING",
    "SELECT CAST(sum(a) AS BIGINT) FROM sync.t",
    "SELECT CAST(coalesce(sum(a), 0) AS BIGINT) FROM sync.t",
    "INSERT INTO sync.t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = sync.t.b + 1 RETURNING b",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n",
    "-- LIKE\nSELECT 1",
  ])
  func `what both engines read alike passes`(sql: String) {
    #expect(dialectViolations(sql) == [])
  }

  @Test func `every migration keeps to the dialect`() {
    for (schema, list) in [("sync", Migrations.sync), ("billing", Migrations.billing)] {
      for migration in list {
        let sql = String(decoding: migration.sql, as: UTF8.self)
        #expect(dialectViolations(sql) == [], "\(schema) \(migration.number)")
      }
    }
  }

  @Test func `every table of the migrations is STRICT`() {
    for migration in Migrations.sync + Migrations.billing {
      let words = Dialect.tokens(of: String(decoding: migration.sql, as: UTF8.self)).words
      let tables = words.indices.filter { words[$0] == "CREATE" && words[$0 + 1] == "TABLE" }
      #expect(words.filter { $0 == "STRICT" }.count == tables.count, "\(migration.name)")
    }
  }

  @Test func `every statement in the sources keeps to the dialect`() throws {
    let sources = Files.paths(under: Files.repository + "/Sources")
      .filter { $0.hasSuffix(".swift") }.map { "\(Files.repository)/Sources/\($0)" }
    #expect(!sources.isEmpty)
    // Statements that only one engine runs may use that engine's own dialect.
    let shared = sources.filter { !$0.contains("/Storage/Storage/") }
    for path in shared {
      for statement in statements(in: try #require(Files.text(path))) {
        #expect(dialectViolations(statement) == [], "\(path): \(statement)")
      }
    }
  }
}

/// The statements among a Swift source's string literals: those that begin with an SQL verb.
private func statements(in source: String) -> [String] {
  var statements: [String] = []
  let blocks = source.split(separator: "\"\"\"", omittingEmptySubsequences: false)
  for (index, block) in blocks.enumerated() {
    if index % 2 == 1 {
      statements.append(String(block))
    } else {
      for line in block.split(separator: "\n") {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        for (place, part) in parts.enumerated() where place % 2 == 1 {
          statements.append(String(part))
        }
      }
    }
  }
  let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE FROM ", "WITH "]
  return statements.filter { text in
    let start = String(text.drop { $0.isWhitespace }).split(separator: "\n").first ?? ""
    return verbs.contains { start.hasPrefix($0) }
  }
}
