import Base
import SeededRandom

/// Contents of any size: downloads and uploads beside nginx in the same run, the memory that they take, what a resumed
/// upload sends again, and an S3 service beside rclone.
struct ContentBench {
  private struct Size {
    let name: String
    let byteCount: Int
    let connectionCount: Int
    let getAim: Double
    /// Nil: uploads of this size are not compared.
    let putAim: Double?
  }

  private static let sizes = [
    Size(name: "4 kB", byteCount: 4096, connectionCount: 32, getAim: 0.35, putAim: nil),
    Size(name: "1 MB", byteCount: 1_000_000, connectionCount: 8, getAim: 0.8, putAim: 1),
    Size(name: "100 MB", byteCount: 100_000_000, connectionCount: 2, getAim: 0.8, putAim: 1),
  ]

  private let options: Options
  private let workspace: Workspace
  private let progress = Progress("content")
  private let servers: ContentServers

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
    servers = ContentServers(
      workspace: workspace, load: Load(options), seed: options.seed)
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .content, facts: try Machine(workspace, options).facts)
    let contents = Self.sizes.map { Self.content($0.byteCount, seed: options.seed) }
    try compare(contents, &report)
    progress.note("memory")
    report.figures += try ContentMemory(servers: servers, workspace: workspace).figures()
    if let bucket = options.bucket {
      progress.note("an S3 service")
      report.figures += try ContentBucket(servers: servers, workspace: workspace)
        .figures(bucket, rclone: options.rclone)
    } else {
      report.notes.append("no S3 service was given, so none was measured")
    }
    return report
  }

  /// Bytes that no one can compress, made quickly.
  static func content(_ byteCount: Int, seed: UInt64) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    let block = random.bytes(count: min(byteCount, 65_521))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount + block.count)
    while bytes.count < byteCount { bytes += block }
    return Array(bytes.prefix(byteCount))
  }

  // MARK: Beside nginx

  private func compare(_ contents: [[UInt8]], _ report: inout Report) throws(BenchError) {
    let sync = try servers.sync("content", clients: Self.sizes[0].connectionCount)
    let load = ContentLoad(options)
    let nginx: ServerProcess?
    if options.measuresOursOnly {
      nginx = nil
    } else {
      nginx = try servers.nginx(
        zip(Self.sizes, contents).flatMap { size, content in
          (0..<size.connectionCount).map { (name: Self.file(size, $0), content: content) }
        })
    }
    for (size, content) in zip(Self.sizes, contents) {
      let clients = sync.clients.all.prefix(size.connectionCount)
      let digest = ContentClients.Client.digest(content)
      let puts = clients.map { $0.put(content, digest: digest) }
      _ = try ContentLoad.together(Array(puts), to: sync.server, connections: 4)
      progress.note("GET \(size.name)")
      let gets = (0..<size.connectionCount).map { index in
        ContentRequest(
          head: Array(
            ContentRequest.head("GET", "/\(Self.file(size, index))", host: "localhost").utf8),
          body: [])
      }
      let (ours, theirs) = try load.run(
        .init(server: sync.server, requests: clients.map(\.get)),
        nginx.map { .init(server: $0, requests: gets) })
      report.rows.append(.init(server: "coffer-sync, GET \(size.name)", outcome: ours))
      if let theirs {
        report.rows.append(.init(server: "nginx, GET \(size.name)", outcome: theirs))
        report.figures.append(
          .ratio(
            "get_\(size.byteCount)_ratio_to_nginx",
            ours.perSecond / max(0.001, theirs.perSecond),
            "of nginx with sendfile, GET \(size.name)",
            aim: size.getAim))
      }
      if size.putAim != nil {
        try comparePut(size, content, Array(puts), load, sync, nginx, &report)
      }
    }
  }

  /// Each connection gets a file of its own from nginx, as it gets a document of its own from coffer-sync. A single file
  /// would stay in the processor's caches.
  private static func file(_ size: Size, _ index: Int) -> String { "\(size.byteCount)-\(index)" }

  private func comparePut(
    _ size: Size, _ content: [UInt8], _ puts: [ContentRequest], _ load: ContentLoad,
    _ sync: ContentServers.Sync, _ nginx: ServerProcess?, _ report: inout Report
  ) throws(BenchError) {
    progress.note("PUT \(size.name)")
    let theirPuts = (0..<size.connectionCount).map { index in
      ContentRequest(
        head: Array(
          ContentRequest.head(
            "PUT", "/put-\(index)", host: "localhost", byteCount: content.count
          ).utf8), body: content)
    }
    let (ours, theirs) = try load.run(
      .init(server: sync.server, requests: puts),
      nginx.map { .init(server: $0, requests: theirPuts) })
    report.rows.append(.init(server: "coffer-sync, PUT \(size.name)", outcome: ours))
    guard let theirs, let aim = size.putAim else { return }
    report.rows.append(.init(server: "nginx DAV, PUT \(size.name)", outcome: theirs))
    let durable = try servers.durableFilesPerSecond(content)
    // nginx never makes anything durable: its time and that of the disk add up.
    let anchor = 1 / (1 / max(0.001, theirs.perSecond) + 1 / durable)
    report.figures += [
      Figure(
        name: "put_\(size.byteCount)_durable_thousandths_per_second", value: Int(durable * 1000),
        text: "\(Figure.decimal(durable, places: 1)) files of \(size.name) made durable a second "
          + "by one thread"),
      .ratio(
        "put_\(size.byteCount)_ratio_to_nginx_and_fsync", ours.perSecond / anchor,
        "of nginx's DAV PUT followed by fsync, PUT \(size.name)", aim: aim),
    ]
  }
}
