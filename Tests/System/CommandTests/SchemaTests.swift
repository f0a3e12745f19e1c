import JSON
import Testing

/// The schema of `--json`. It is checked in every test that uses `--json`: builds for tests end a program
/// whose answer does not match it.
struct SchemaTests {
  private func schema() throws -> JSON {
    let finished = try Finished(["schema"])
    #expect(finished.code == 0)
    return try JSON.parse(Array(finished.out.utf8), limits: .standard)
  }

  @Test func `it has a version and a definition for every command`() throws {
    let schema = try schema()
    #expect(schema["$id"].string == "urn:coffer:commands:1")
    for command in try HelpTests.listed() where command != "schema" {
      let definition = schema["$defs"][command]
      #expect(
        definition["type"].string != nil || definition["anyOf"].array != nil, "\(command)")
    }
  }

  @Test func `an object names the members that are always there`() throws {
    let migrate = try schema()["$defs"]["migrate"]
    #expect(migrate["required"].array?.compactMap(\.string) == ["schemas", "up_to_date"])
    #expect(migrate["properties"]["up_to_date"]["type"].string == "boolean")
  }
}
