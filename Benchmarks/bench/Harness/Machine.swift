import Glibc
import TestFiles

/// The machine and the programs of a measurement.
struct Machine {
  /// Names and values, in the order of printing.
  let facts: [(name: String, value: String)]

  init(_ workspace: Workspace, _ options: Options) throws(BenchError) {
    let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    var facts = [
      ("machine", "\(Self.processor()), \(cores) cores"),
      ("kernel", Self.firstLine("/proc/sys/kernel/osrelease")),
      ("load before", Self.firstLine("/proc/loadavg")),
      ("durable 4 kB appends", "\(Int(try workspace.syncsPerSecond()))/s (fdatasync)"),
    ]
    for library in ["libmicrohttpd", "sqlite3", "libcrypto"] {
      let version = try workspace.output("pkg-config", "--modversion", library)
      facts.append((library, version.filter { !$0.isWhitespace }))
    }
    if [.webhooks, .sync, .streams].contains(options.subject) {
      facts += [
        (
          "load", "\(options.connectionCount) connections, \(options.threadCount) generator threads"
        ),
        ("time", "\(options.warmUpSeconds) s warm-up, \(options.seconds) s timed"),
      ]
    }
    facts.append(("seed", "\(options.seed)"))
    self.facts = facts
  }

  private static func firstLine(_ path: String) -> String {
    (Files.text(path) ?? "").split(separator: "\n").first.map(String.init) ?? "unknown"
  }

  private static func processor() -> String {
    let lines = (Files.text("/proc/cpuinfo") ?? "").split(separator: "\n")
    let model = lines.first { $0.hasPrefix("model name") }
    return model?.split(separator: ":").last.map { String($0.dropFirst()) } ?? "unknown processor"
  }
}
