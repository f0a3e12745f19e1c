import Storage
import TestEngines
import TestFiles
import Testing

/// Rows of one SQLite file mean nothing without those of the other.
struct HalfDatabaseTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private func path(of schema: Schema) -> String { "\(scratch.path)/\(schema).db" }

  private func open(_ preparation: Database.Preparation = .migrates) throws {
    try Database.open(.sqlite(directory: scratch.path), owning: .sync, preparation).close()
  }

  @Test(arguments: Schema.allCases, [Database.Preparation.migrates, .requiresSchema])
  func `half a database is refused, and no other half is made`(
    missing: Schema, preparation: Database.Preparation
  ) throws {
    try open()
    #expect(Files.remove(path(of: missing)))
    #expect(
      throws: DatabaseError.migration(
        "\(scratch.path) has \(missing.other).db but no \(missing).db",
        remedy: "restore both from one backup")
    ) {
      try open(preparation)
    }
    #expect(Files.permissions(path(of: missing)) == nil)
  }

  @Test func `a first start that was cut off between the two files goes on`() throws {
    try Files.write("", to: path(of: .sync))
    try open()
    try open(.requiresSchema)
  }
}
