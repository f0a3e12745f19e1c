import Base
import Crypto
import JSON
import TestDevices

extension PermissionOperation {
  /// Versions and the trash of the document below the shared folder, uploads of it, and the folder's cap.
  static var ofHistory: [PermissionOperation] {
    [
      request("list the versions") { world, role in
        try world[role].get("/v1/files/\(world.document)/versions")
      },
      request("read a version", prepare: { world, _ in try world.replaceContent() }) {
        world, role in
        try world[role].get("/v1/files/\(world.document)/content?version=\(world.formerVersion)")
      },
      request("restore a version", prepare: { world, _ in try world.replaceContent() }) {
        world, role in try world[role].restore(world.document, world.formerVersion)
      },
      request("restore from the trash", prepare: { world, _ in try world.deleteDocument() }) {
        world, role in try world[role].restoreDeleted(world.document)
      },
      request(
        "restore under another name", "file.name.hmac",
        prepare: { world, _ in try world.deleteDocument() },
        { world, role in
          let change = try world.change(world.document) { $0.name = .init() }
          return try world[role].restoreDeleted(world.document, as: change.file)
        }),
      request("purge from the trash", prepare: { world, _ in try world.deleteDocument() }) {
        world, role in try world[role].purge(world.document)
      },
      request("begin an upload in parts", "file.content") { world, role in
        try world[role].send(
          world[role].sign(
            "PUT", "/v1/files/\(world.document)/content",
            headers: [("Upload-Draft-Interop-Version", "8"), ("Upload-Complete", "?0")],
            covering: [
              ("If-Match", "*"), ("Upload-Length", "3"),
              ("Repr-Digest", UploadScene.digest([1, 2, 3])),
            ]))
      },
      request("see the cap of the shared folder") { world, role in
        try world[role].get("/v1/files/\(world.folder)/cap")
      },
      request("cap the shared folder") { world, role in
        try world[role].capFolder(world.folder, .integer(1_000_000))
      },
    ]
  }
}

extension PermissionWorld {
  /// Writes two contents. The first becomes a version.
  fileprivate func replaceContent() throws {
    formerVersion = try self[.owner].write(document, [1])
    _ = try self[.owner].write(document, [2])
  }

  fileprivate func deleteDocument() throws {
    try succeed(self[.owner].batch(files: [change(document) { $0.deleted = true }]))
    try server.sweepDeletions()
  }
}
