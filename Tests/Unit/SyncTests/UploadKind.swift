import JSON
import Logs
import Sync
import TestDevices
import Testing

/// What a content is that is uploaded.
enum UploadKind {
  case file, blob, link, snapshot

  struct InDialect: CustomTestStringConvertible {
    let kind: UploadKind
    let dialect: UploadScene.Dialect

    var testDescription: String { "\(kind), \(dialect.testDescription)" }
  }

  /// Each of the kinds in each of the dialects.
  static func each(
    of kinds: [UploadKind], in dialects: [UploadScene.Dialect]
  ) -> [InDialect] {
    kinds.flatMap { kind in dialects.map { InDialect(kind: kind, dialect: $0) } }
  }

  func scene(
    _ server: TestServer, _ dialect: UploadScene.Dialect = .draft(8)
  ) throws -> UploadScene {
    switch self {
    case .file: try UploadScene(server, dialect)
    case .blob: try UploadScene(blobOn: server, dialect)
    case .link: try UploadScene(linkOn: server, dialect)
    case .snapshot: try UploadScene(snapshotOn: server, dialect)
    }
  }

  /// Whether the content is there for whoever may read it.
  func isStored(_ scene: UploadScene) throws -> Bool {
    switch self {
    case .file, .blob, .snapshot: try scene.isStored()
    case .link: try scene.server.fetch(scene.renewedToken()).holds(scene.content)
    }
  }

  /// Whether there is no content yet.
  func isAbsent(_ scene: UploadScene, for device: TestDevice) throws -> Bool {
    switch self {
    case .file: try device.get(scene.path).body.isEmpty
    case .blob: try device.get(scene.path).problem == "blob_not_found"
    case .link: try scene.server.count("public_links") == 0
    case .snapshot: try device.get(scene.path).problem == "snapshot_not_found"
    }
  }

  /// Records an issue unless an account's totals and usage are what its rows add up to.
  func requireRight(_ scene: UploadScene) throws {
    switch self {
    case .blob: try scene.server.requireDocuments(scene.device)
    case .link: try scene.server.requireLinks(scene.device)
    case .file, .snapshot:
      let recount = Recount(
        scene.server.database, catalogue: scene.server.catalogue,
        protocols: [FileTrees.self, MessageLogs.self])
      #expect(try recount.audit(scene.device.account)?.isRight == true)
    }
  }
}

extension UploadScene {
  /// Gives the link another token, as its owner may, and returns it.
  func renewedToken() throws -> String {
    let answer = try device.send(device.sign("POST", "\(path)/token"))
    guard let token = try answer.json["token"].string else { throw UnexpectedAnswer(answer) }
    return token
  }
}
