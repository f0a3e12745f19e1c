import Base
import Crypto
import Objects
import Storage
import Sync
import TestDevices

extension APIStories {
  func uploadInParts() throws {
    for dialect in UploadScene.Dialect.all {
      let scene = try UploadScene(self.server(), dialect)
      try scene.create()
      _ = try scene.append(0..<20_000)
      _ = try scene.ask()
      _ = try scene.append(0..<10)
      _ = try scene.append(20_000..<50_000)
      _ = try scene.append(20_000..<50_000)
      _ = try scene.ask()
      _ = try scene.device.send(scene.request("DELETE"))
      _ = try scene.ask()
      _ = try scene.append(0..<10)
    }
  }

  /// Snapshots in parts: what comes of them differs from documents.
  func uploadSnapshots() throws {
    for dialect in UploadScene.Dialect.all {
      let scene = try UploadScene(snapshotOn: self.server(), dialect)
      let device = scene.device
      try scene.create()
      _ = try scene.append(0..<20_000)
      _ = try scene.append(20_000..<50_000)
      _ = try scene.ask()
      let query = scene.query
      for (query, ifMatch) in [("?covers=x", "*"), (query, "\"0\"")] {
        scene.query = query
        _ = try device.send(scene.creation(ifMatch: ifMatch))
      }
      _ = try device.send(scene.creation(length: "2000000", ifMatch: "*"))
      _ = try device.send(
        .init(
          method: "OPTIONS", target: scene.path, headers: [("Host", TestServer.authority)], body: []
        ))
    }
    let begun = try UploadScene(snapshotOn: self.server())
    try begun.create()
    _ = try begun.device.beginEpoch(of: begun.log, covering: begun.cursor)
    _ = try begun.append(0..<50_000)
    _ = try begun.ask()
    let deleted = try UploadScene(snapshotOn: self.server())
    try deleted.create()
    _ = try deleted.device.remove(deleted.log.path)
    _ = try deleted.append(0..<50_000)
    _ = try deleted.ask()
    _ = try deleted.device.send(deleted.creation())
  }

  /// Blobs and public links in parts: what comes of them differs, too.
  func uploadBlobsAndLinks() throws {
    for dialect in UploadScene.Dialect.all {
      let scenes = [
        try UploadScene(blobOn: self.server(), dialect),
        try UploadScene(linkOn: self.server(), dialect),
      ]
      for scene in scenes {
        try scene.create()
        _ = try scene.append(0..<20_000)
        _ = try scene.append(20_000..<50_000)
        _ = try scene.ask()
        _ = try scene.device.send(scene.creation())
        _ = try scene.device.send(scene.creation(length: "2000000", ifMatch: "*"))
        _ = try scene.device.send(
          .init(
            method: "OPTIONS", target: scene.path, headers: [("Host", TestServer.authority)],
            body: []))
      }
    }
    let taken = try UploadScene(blobOn: self.server())
    try taken.create()
    _ = try taken.device.putBlob([1], taken.document)
    _ = try taken.append(0..<50_000)
    _ = try taken.ask()
    let late = try UploadScene(linkOn: self.server())
    late.query = "?expires=x"
    _ = try late.device.send(late.creation())
    late.query = "?expires=\(late.server.clock.now.seconds + 100)"
    try late.create()
    late.server.clock.advance(.seconds(100))
    _ = try late.append(0..<50_000)
    _ = try late.ask()
    let full = try UploadScene(linkOn: self.server())
    try full.create()
    try full.server.fillLinks(of: full.device.account)
    _ = try full.append(0..<50_000)
    _ = try full.ask()
    _ = try full.device.send(full.creation())
    let known = try UploadScene(linkOn: self.server())
    _ = try known.device.publish(known.document, [1])
    try known.create(ifMatch: "\"1\"")
    _ = try known.append(0..<50_000)
  }

  func failToUpload() throws {
    let scene = try UploadScene(self.server())
    let path = "/v1/files/\(scene.document)/content"
    for request in [
      scene.creation(length: "x"), scene.creation(length: "6000000000"),
      scene.creation(length: "2000000"), scene.creation(ifMatch: "\"7\""),
      scene.device.sign("PUT", path, headers: [("Upload-Complete", "?0"), ("If-Match", "*")]),
      scene.device.sign("POST", path),
      TestDevice.Signed(
        method: "OPTIONS", target: path, headers: [("Host", TestServer.authority)], body: []),
    ] {
      _ = try scene.device.send(request)
    }
    try scene.create()
    for header in [("Upload-Offset", "x"), ("Content-Type", "text/plain")] {
      var request = scene.appending(0..<10)
      request.headers.removeAll { $0.0 == header.0 }
      request.headers.append(header)
      _ = try scene.device.send(request)
    }
    var altered = scene.appending(0..<10)
    altered.headers.append(("Content-Digest", UploadScene.digest([1])))
    _ = try scene.device.send(altered)
    _ = try scene.append(0..<10, completes: true)
    var long = scene.appending(0..<50_000)
    long.body.append(1)
    _ = try scene.device.send(long)
    try scene.create(digest: UploadScene.digest([1]))
    _ = try scene.append(0..<50_000)
    try scene.create(first: 10)
    for object in try scene.server.reservedObjects() {
      try scene.server.objects.deleteLeftover(object)
    }
    _ = try scene.append(10..<50_000)
    let tus = try UploadScene(scene.server, .tus)
    try tus.create()
    var other = tus.request("HEAD")
    other.headers = [("Host", TestServer.authority), ("Tus-Resumable", "0.2.2")]
    _ = try tus.device.send(other)
    other.method = "DELETE"
    _ = try tus.device.send(other)
  }
}
