import Base
import Crypto
import TestDevices
import TestEngines
import Testing

/// What the model found wrong, each in the smallest story that shows it.
@Suite struct FoundTests {
  @Test func `a file beneath a folder that moves to no parent has no parent, and is not too deep`()
    throws
  {
    let server = try TreeServer(.sqlite)
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let answer = try device.batch(files: [
      device.record(folder).change { $0.parent = Random.identifier() },
      device.creation(parent: folder),
    ])
    #expect(answer.status == 422)
    #expect(try answer.rules == ["parent_not_found"])
  }

  @Test func `a share is not rejected while a new link takes the place of the old one`() throws {
    let server = try TreeServer(.sqlite)
    let (owner, sharee) = (try server.register(), try server.register())
    let (folder, _) = try owner.create("folder")
    let link = try owner.share(folder, with: sharee)
    let rejection = ShareStatement(
      file: folder, account: try sharee.account, state: .rejected)
    let answer = try sharee.batch(
      files: [
        sharee.record(link).change { $0.deleted = true },
        sharee.creation("link", target: folder),
      ],
      shares: [ShareChange(expect: "accepted", rejection)])
    #expect(answer.status == 422)
    #expect(try answer.rules == ["link_exists"])
  }
}
