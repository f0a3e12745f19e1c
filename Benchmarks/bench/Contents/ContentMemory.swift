import Base
import Glibc

/// The memory that uploads take, and what an upload sends again after a crash.
struct ContentMemory {
  let servers: ContentServers
  let workspace: Workspace

  private static let manyCount = 50
  private static let partMebibytes = 8

  func figures() throws(BenchError) -> [Figure] {
    let sync = try servers.sync("memory", clients: Self.manyCount)
    let small = ContentBench.content(100_000, seed: 1)
    _ = try ContentLoad.together(
      puts(small, sync.clients.all), to: sync.server, connections: 4)
    let before = sync.server.peakKilobytes()
    let large = ContentBench.content(1 << 30, seed: 2)
    _ = try ContentLoad.together(puts(large, [sync.clients.all[0]]), to: sync.server)
    let one = sync.server.peakKilobytes() - before
    let middle = ContentBench.content(20_000_000, seed: 3)
    _ = try ContentLoad.together(puts(middle, sync.clients.all), to: sync.server)
    let many = sync.server.peakKilobytes() - before
    sync.server.stop()
    return [
      .cost(
        "one_upload_mebibytes", Double(one) / 1024, "MiB",
        "more at the peak for one upload of 1 GiB", limit: 16),
      .cost(
        "many_uploads_mebibytes", Double(many) / 1024, "MiB",
        "more at the peak for \(Self.manyCount) uploads of 20 MB at once", limit: 64),
      try resumed(),
    ]
  }

  private func puts(
    _ content: [UInt8], _ clients: [ContentClients.Client]
  ) -> [ContentRequest] {
    let digest = ContentClients.Client.digest(content)
    return clients.map { $0.put(content, digest: digest) }
  }

  /// Kills the program in the middle of an upload, and counts what its client sends twice.
  private func resumed() throws(BenchError) -> Figure {
    let sync = try servers.sync("resumed", clients: 1)
    let (client, content) = (sync.clients.all[0], ContentBench.content(100_000_000, seed: 4))
    let version = ("Upload-Draft-Interop-Version", "8")
    let url = try create(client, content, version, on: sync.server)
    let sent = 61_000_000
    let append = try ContentConnection(port: sync.server.port)
    try append.send(
      client.head(
        "PATCH", url,
        [
          version, ("Upload-Offset", "0"), ("Upload-Complete", "?1"),
          ("Content-Type", "application/partial-upload"),
        ], byteCount: content.count)[...])
    try append.send(content[..<sent])
    usleep(1_500_000)
    sync.server.crash()
    let next = try servers.start(sync.settings, "resumed-again")
    let (head, text) = try ContentConnection(port: next.port).send(
      ContentRequest(head: client.head("HEAD", url, [version]), body: []))
    guard head.status == 204, let offset = Self.field("upload-offset", text).flatMap({ Int($0) })
    else { throw .server("the upload does not continue:\n\(text)") }
    return .cost(
      "resumed_mebibytes", Double(sent - offset) / 1_048_576, "MiB",
      "of 61 MB sent again after the program was killed", limit: Self.partMebibytes)
  }

  private func create(
    _ client: ContentClients.Client, _ content: [UInt8], _ version: (String, String),
    on server: ServerProcess
  ) throws(BenchError) -> String {
    let fields = [
      version, ("Upload-Complete", "?0"), ("Upload-Length", "\(content.count)"),
      ("Repr-Digest", ContentClients.Client.digest(content)), ("If-Match", "\"0\""),
    ]
    let (head, text) = try ContentConnection(port: server.port).send(
      ContentRequest(head: client.head("PUT", client.target, fields, byteCount: 0), body: []))
    guard head.status == 201, let url = Self.field("location", text) else {
      throw .server("no upload:\n\(text)")
    }
    return url
  }

  private static func field(_ name: String, _ head: String) -> String? {
    let lines = head.split(separator: "\r\n")
    let line = lines.first { $0.lowercased().hasPrefix("\(name):") }
    return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
  }
}
