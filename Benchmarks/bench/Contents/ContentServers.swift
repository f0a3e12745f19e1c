import Base
import Glibc

/// The servers that give and take contents: coffer-sync, and nginx as its peer.
struct ContentServers {
  let workspace: Workspace
  let load: Load
  let seed: UInt64

  /// A coffer-sync with accounts of its own.
  struct Sync {
    let server: ServerProcess
    let clients: ContentClients
    /// Starts the program again on the same data and port.
    let settings: [String: String]
  }

  /// `objects` is the setting of the object store; by default a directory.
  func sync(
    _ name: String, clients count: Int, objects: String? = nil, keys: String? = nil
  ) throws(BenchError) -> Sync {
    let directory = try workspace.directory(name)
    let folder = try workspace.directory("\(name)-objects")
    var settings = [
      "COFFER_DATABASE": "sqlite://\(directory)", "COFFER_OBJECTS": objects ?? "file://\(folder)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(try ServerProcess.freePort())",
      "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
      "COFFER_SYNC_AUTHORITIES": SyncClients.authority,
      "COFFER_REQUESTS_BURST": "1000000", "COFFER_REQUESTS_PER_SECOND": "1000000",
    ]
    settings["COFFER_OBJECTS_KEY"] = keys
    let server = try start(settings, name)
    let clients = try ContentClients(
      count, on: server, "\(directory)/sync.db", workspace, load, seed: seed)
    return Sync(server: server, clients: clients, settings: settings)
  }

  func start(_ settings: [String: String], _ name: String) throws(BenchError) -> ServerProcess {
    try ServerProcess(log: workspace.file("\(name).log"), environment: settings) { _ in
      [workspace.program("coffer-sync")]
    } settings: { port in
      ["COFFER_SYNC_LISTEN": "127.0.0.1:\(port)"]
    }
  }

  /// nginx with sendfile, which also takes uploads (DAV) into the same file system. `files` are names and sizes.
  func nginx(_ files: [(name: String, content: [UInt8])]) throws(BenchError) -> ServerProcess {
    let directory = try workspace.directory("nginx")
    let root = try workspace.directory("nginx/root")
    for (name, content) in files { _ = try workspace.write(content, "nginx/root/\(name)") }
    return try ServerProcess(log: workspace.file("nginx.log")) { port in
      let text = """
        worker_processes auto;
        pid \(directory)/pid;
        error_log stderr crit;
        user \(getuid() == 0 ? "root" : "nobody");
        events { worker_connections 512; }
        http {
          access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
          client_max_body_size 0; client_body_temp_path \(directory)/body;
          proxy_temp_path \(directory)/proxy; fastcgi_temp_path \(directory)/fastcgi;
          uwsgi_temp_path \(directory)/uwsgi; scgi_temp_path \(directory)/scgi;
          server {
            listen 127.0.0.1:\(port);
            location / { root \(root); dav_methods PUT; default_type application/octet-stream; }
          }
        }
        """
      // The server that cannot read its settings ends, and says so.
      let path = (try? workspace.write(Array(text.utf8), "nginx/nginx.conf")) ?? ""
      return ["nginx", "-p", directory, "-c", path, "-g", "daemon off;"]
    }
  }

  /// How often a second one thread can write a file, make it durable and give it its name, as a store must.
  func durableFilesPerSecond(_ content: [UInt8]) throws(BenchError) -> Double {
    let directory = try workspace.directory("raw-\(content.count)")
    let folder = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw .system("open \(directory)", errno: errno) }
    defer { close(folder) }
    let start = MonotonicTime.now()
    var count = 0
    while count < 3 || MonotonicTime.now().seconds(since: start) < 2 {
      try Self.writeDurably(content, directory, folder)
      count += 1
    }
    return Double(count) / MonotonicTime.now().seconds(since: start)
  }

  private static func writeDurably(
    _ content: [UInt8], _ directory: String, _ folder: Int32
  ) throws(BenchError) {
    let file = unsafe open(
      "\(directory)/new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .system("create a file", errno: errno) }
    defer { close(file) }
    var rest = content[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
      guard count > 0 else { throw .system("write a file", errno: errno) }
      rest = rest.dropFirst(count)
    }
    guard fsync(file) == 0, unsafe rename("\(directory)/new", "\(directory)/old") == 0,
      fsync(folder) == 0
    else { throw .system("write durably", errno: errno) }
  }
}
