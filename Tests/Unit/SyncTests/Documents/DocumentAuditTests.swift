import Accounts
import Base
import Crypto
import Documents
import Storage
import TestDevices
import TestEngines
import Testing

/// What the check of an account's versions finds after damage to their rows.
@Suite struct DocumentAuditTests {
  private let document = Random.identifier()

  private static func faults(of device: TestDevice, in server: TestServer) throws -> [String] {
    try VersionedDocuments.faults(of: device.account, in: server.database)
  }

  /// How a fault of a version begins.
  private static func name(of version: MadeVersion) -> String {
    "the version \(version.counter) of the device \(Base64.standard.encode(version.author)) "
      + "of the document \(version.document)"
  }

  @Test(arguments: TestEngine.available)
  func `versions that are not as their authors signed them are found, on every page`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let versions = (Int64(1)...510).map { device.version(Random.identifier(), $0, [1]) }
    try device.push(Array(versions.prefix(500))).requireSuccess()
    try device.push(Array(versions.dropFirst(500))).requireSuccess()
    #expect(try Self.faults(of: device, in: server) == [])
    try server.change(
      "UPDATE sync.document_versions SET created_s = created_s + 1 WHERE counter IN (2, 510)")
    #expect(
      try Self.faults(of: device, in: server)
        == [1, 509].map { "\(Self.name(of: versions[$0])) is not as its author signed it" })
  }

  @Test(arguments: TestEngine.available)
  func `a replaced version is checked, too`(engine: TestEngine) throws {
    let server = try TestServer(engine, keepingFor: 30)
    let device = try server.register()
    let version = device.version(document, 1)
    try device.push(version).requireSuccess()
    try device.push(device.version(document, 2, covering: [device.publicKey: 1])).requireSuccess()
    try server.change(
      "UPDATE sync.document_versions SET created_s = created_s + 1 WHERE counter = 1")
    #expect(
      try Self.faults(of: device, in: server)
        == ["\(Self.name(of: version)) is not as its author signed it"])
  }

  @Test(arguments: TestEngine.available)
  func `a version whose body is lost is found in each account that holds it`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let version = scene.ada.version(document, 1, to: [try scene.bob.account])
    try scene.ada.push(version).requireSuccess()
    try scene.server.change("DELETE FROM sync.document_texts")
    let fault = "\(Self.name(of: version)) has lost its clock and its body"
    #expect(try Self.faults(of: scene.bob, in: scene.server) == [fault])
    // Ada is charged for it, so her totals are wrong, too.
    let faults = try Self.faults(of: scene.ada, in: scene.server)
    #expect(faults.count == 2 && faults.last == fault, "\(faults)")
  }

  @Test(arguments: TestEngine.available)
  func `a version beyond the counter of its device is found`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let versions = (Int64(1)...2).map { device.version(Random.identifier(), $0) }
    try device.push(versions).requireSuccess()
    try server.change("UPDATE sync.document_devices SET counter = 1")
    let fault = "has a counter that its device has not reached"
    #expect(
      try Self.faults(of: device, in: server) == ["\(Self.name(of: versions[1])) \(fault)"])
    try server.change("DELETE FROM sync.document_devices")
    #expect(
      try Self.faults(of: device, in: server)
        == versions.map { "\(Self.name(of: $0)) \(fault)" })
  }

  @Test(arguments: TestEngine.available)
  func `a version beside a deletion is found`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let other = b.version(Random.identifier(), 1)
    let deletion = a.version(document, 2, covering: [a.publicKey: 1], nil)
    try a.push(a.version(document, 1)).requireSuccess()
    try a.push(deletion).requireSuccess()
    try b.push(other).requireSuccess()
    #expect(try Self.faults(of: a, in: server) == [])
    try server.change(
      "UPDATE sync.document_versions SET document_id = $1 WHERE document_id = $2", .id(document),
      .id(other.document))
    // The other device signed another document.
    var moved = other
    moved.document = document
    #expect(
      try Set(Self.faults(of: a, in: server)) == [
        "\(Self.name(of: deletion)) deletes the document, and another version is current beside it",
        "\(Self.name(of: moved)) is not as its author signed it",
      ])
  }
}
