import Configuration
import KnownStores
import S3
import Testing

/// The settings that say where objects are.
@Suite struct ObjectsSettingsTests {
  private func objects(_ settings: [String: String]) throws -> ObjectsPlace {
    let environment = SettingsTests.complete.merging(settings) { $1 }
    return try SyncConfiguration(Settings(.coffer, environment: environment)).objects
  }

  @Test func `one store is enough, and two are the new one and the old one`() throws {
    #expect(try objects([:]).also == nil)
    let both = try objects([
      "COFFER_OBJECTS": "s3://bucket/p?region=eu", "COFFER_OBJECTS_KEY": "id:secret",
      "COFFER_OBJECTS_ALSO": "file:///var/lib/coffer/objects",
    ])
    #expect(both.main.location.directory == nil)
    #expect(both.also?.location == .directory("/var/lib/coffer/objects"))
    #expect(both.directories == ["/var/lib/coffer/objects"])
    #expect(both.isDistant)
  }

  @Test(arguments: ["file:///var/lib/coffer/objects", "file:///var/lib//coffer/objects/"])
  func `two names of one directory are no two stores`(_ also: String) throws {
    let failure = #expect(throws: ConfigurationError.self) {
      try objects(["COFFER_OBJECTS_ALSO": also])
    }
    #expect(
      failure?.lines == [
        "COFFER_OBJECTS_ALSO (environment): names the store of COFFER_OBJECTS"
      ])
  }
}
