import Base
import Glibc

/// Contents in an S3 service of this machine, beside `rclone copy` to and from the same service.
struct ContentBucket {
  let servers: ContentServers
  let workspace: Workspace

  private static let fileCount = 8
  private static let byteCount = 20_000_000
  private static let turnCount = 3
  /// Also the number of rclone's transfers.
  private static let connectionCount = 4
  private static let (user, secret) = ("coffertest", "coffertestsecret")
  private static let aim = 0.7

  /// `bucket` is a setting for the object store, `rclone` the program.
  func figures(_ bucket: String, rclone: String) throws(BenchError) -> [Figure] {
    let content = ContentBench.content(Self.byteCount, seed: 5)
    let halves = bucket.split(separator: "?", maxSplits: 1)
    guard halves.count == 2, let endpoint = bucket.firstMatch(of: /endpoint=([^&]+)/)?.1 else {
      throw .usage("--bucket takes s3://<bucket>?region=…&endpoint=…")
    }
    let sync = try servers.sync(
      "bucket", clients: Self.fileCount, objects: "\(halves[0])/bench?\(halves[1])",
      keys: "\(Self.user):\(Self.secret)")
    let digest = ContentClients.Client.digest(content)
    let folder = try workspace.directory("rclone")
    for index in 0..<Self.fileCount { _ = try workspace.write(content, "rclone/\(index)") }
    let remote = "bench:\(halves[0].dropFirst("s3://".count))/rclone"
    var (up, down, theirUp, theirDown) = (0.0, 0.0, 0.0, 0.0)
    // By turns, so that a machine whose speed changes is the same for both.
    for turn in 0..<Self.turnCount {
      up += try ContentLoad.together(
        sync.clients.all.map { $0.put(content, digest: digest) }, to: sync.server,
        connections: Self.connectionCount)
      theirUp += try copy(folder, "\(remote)/\(turn)", String(endpoint), rclone)
      down += try ContentLoad.together(
        sync.clients.all.map(\.get), to: sync.server, connections: Self.connectionCount)
      theirDown += try copy(
        "\(remote)/\(turn)", workspace.file("rclone-back-\(turn)"), String(endpoint), rclone)
    }
    return [
      rate("up", up, "uploads to"), rate("down", down, "downloads from"),
      .ratio("bucket_up_ratio_to_rclone", theirUp / up, "of rclone copy to it", aim: Self.aim),
      .ratio(
        "bucket_down_ratio_to_rclone", theirDown / down, "of rclone copy from it", aim: Self.aim),
    ]
  }

  private func rate(_ name: String, _ seconds: Double, _ what: String) -> Figure {
    let megabytes = Double(Self.turnCount * Self.fileCount * Self.byteCount) / 1e6 / seconds
    return Figure(
      name: "bucket_\(name)_megabytes_per_second", value: Int(megabytes),
      text: "\(Int(megabytes)) MB a second of \(what) an S3 service through coffer-sync")
  }

  /// Returns the seconds that it took.
  private func copy(
    _ source: String, _ target: String, _ endpoint: String, _ rclone: String
  ) throws(BenchError) -> Double {
    let start = MonotonicTime.now()
    _ = try Command.output(
      [rclone, "copy", source, target, "--transfers", "\(Self.connectionCount)"],
      environment: [
        "RCLONE_CONFIG": "/dev/null", "RCLONE_CONFIG_BENCH_TYPE": "s3",
        "RCLONE_CONFIG_BENCH_PROVIDER": "Other", "RCLONE_CONFIG_BENCH_REGION": "us-east-1",
        "RCLONE_CONFIG_BENCH_ACCESS_KEY_ID": Self.user,
        "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY": Self.secret,
        "RCLONE_CONFIG_BENCH_ENDPOINT": endpoint,
      ], scratch: workspace.file("rclone.log"))
    return MonotonicTime.now().seconds(since: start)
  }
}
