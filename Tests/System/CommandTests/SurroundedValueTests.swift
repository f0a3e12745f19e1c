import TestEngines
import TestFiles
import Testing

/// Blanks after a value that names a place: nothing is created there.
struct SurroundedValueTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  @Test func `a blank behind the database's address makes no database`() throws {
    let address = "sqlite://\(scratch.path)/db "
    let refused = try Finished(["migrate"], environment: ["COFFER_DATABASE": address])
    #expect(refused.code == 78)
    #expect(
      refused.errors
        == "coffer: COFFER_DATABASE (environment): \"\(address)\" ends with a space; remove it\n")
    #expect(Files.names(in: scratch.path).isEmpty)
  }

  @Test func `a comment behind a setting of the file makes no database`() throws {
    let config = "\(scratch.path)/coffer.env"
    try Files.write(
      "COFFER_DATABASE=sqlite://\(scratch.path)/db # the true one\n", to: config, isSecret: true)
    let refused = try Finished(["migrate", "--config", config])
    #expect(refused.code == 78)
    #expect(refused.errors.contains("has a comment after the value"), "\(refused.errors)")
    #expect(Files.names(in: scratch.path) == ["coffer.env"])
  }

  @Test func `a blank behind the objects' place is called one`() throws {
    let installation = try ScratchDatabase(.sqlite, with: .schemas)
    let asked = try Finished(
      ["doctor"],
      environment: [
        "COFFER_DATABASE": "sqlite://\(installation.directory.path)/database",
        "COFFER_OBJECTS": "file://\(scratch.path)/objects ",
      ])
    #expect((asked.out + asked.errors).contains("objects \" ends with a space"), "\(asked)")
  }

  @Test(arguments: [
    ["restore", "/nowhere", "--into", "there "], ["backup", " there"],
    ["account", "export", "ada", "--to", "there\u{A0}"],
    ["migrate", "--config", "there\t"],
  ])
  func `a path of the command line with a blank at an end is refused`(words: [String]) throws {
    let refused = try Finished(words, environment: ["COFFER_DATABASE": "sqlite:///nowhere"])
    #expect(refused.code == 64, "\(refused)")
    #expect(refused.errors.contains("remove it"), "\(refused)")
  }
}
