import Base
import TestDevices
import TestEngines
import Testing

@Suite struct DepthTests {
  /// Folders each in the one before, the first in `parent`; as many as fit one batch after another.
  private func chain(_ count: Int, in parent: Identifier, _ device: TestDevice) throws
    -> [Identifier]
  {
    var changes: [FileChange] = []
    var parent = parent
    for _ in 0..<count {
      let change = try device.creation("folder", parent: parent)
      parent = change.file.id
      changes.append(change)
    }
    let answer = try device.batch(files: changes)
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    return changes.map(\.file.id)
  }

  @Test(arguments: TestEngine.available)
  func `a tree has 128 levels and no more`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folders = try chain(128, in: device.root, device)
    let deeper = try device.create("folder", parent: folders[127]).answer
    #expect(deeper.status == 422)
    #expect(try deeper.rules == ["too_deep"])
    let beside = try device.create("folder").id
    #expect(try device.move(folders[0], to: beside).rules == ["too_deep"])
  }

  @Test(arguments: TestEngine.available)
  func `a folder that was deep once can be moved when it is no longer`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folders = try chain(128, in: device.root, device)
    #expect(try device.delete(folders[1]).status == 200)
    let beside = try device.create("folder").id
    #expect(try device.move(folders[0], to: beside).status == 200)
    #expect(try device.create("folder", parent: folders[0]).answer.status == 200)
  }
}
