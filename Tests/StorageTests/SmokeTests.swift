import Base
import Storage
import Testing

@Suite struct SmokeTests {
  @Test func `what is written is read back`() throws {
    let scratch = ScratchDirectory()
    var options = DatabaseOptions()
    options.syncMigrations = [
      migration(1, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT;")
    ]
    options.billingMigrations = [
      migration(1, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT;")
    ]
    let database = try Database.open(
      .sqlite(directory: scratch.path), owning: .sync, options: options)
    defer { database.close() }
    let n = try database.write(for: nil) { tx in
      try tx.execute("INSERT INTO sync.t (id, v) VALUES ($2, $1)", .text("x"), .integer(7))
    }
    #expect(n == 1)
    let rows = try database.read {
      try $0.rows("SELECT id, v FROM sync.t") { (try $0.integer(0), try $0.text(1)) }
    }
    #expect(rows.count == 1)
    try database.checkWritable()
    print(Metrics.shared.render())
  }
}
