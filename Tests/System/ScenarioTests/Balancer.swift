import Base
import Glibc
import HTTPClient
import LocalServer
import TestFiles

/// nginx in front of several instances of each program, as `ops/proxy/nginx.conf` configures it on one
/// machine. A request that one instance does not answer goes to the next. It is one process, so that its end
/// is the end of everything.
final class Balancer: Sendable {
  let syncPort: UInt16
  let billingPort: UInt16
  private let process: ChildProcess

  /// The path of Debian's package.
  static let executable = "/usr/sbin/nginx"
  static let isAvailable = unsafe access(executable, X_OK) == 0

  init(sync: [Server], billing: [Server]) throws {
    let directory = sync[0].installation.directory + "/nginx"
    (syncPort, billingPort) = (Ports.free(), Ports.free())
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(directory)/\($0);"
    }
    try Files.write(
      """
      \(geteuid() == 0 ? "user root;" : "") daemon off; master_process off; pid \(directory)/pid; error_log \(directory)/errors warn;
      events { worker_connections 1024; }
      http {
        access_log off; \(places.joined(separator: " "))
        client_max_body_size 200m;
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Connection "";
        proxy_next_upstream error timeout non_idempotent;
        \(Self.upstream("sync", sync, listen: syncPort))
        \(Self.upstream("billing", billing, listen: billingPort))
      }

      """, to: directory + "/nginx.conf")
    process = try ChildProcess(
      Self.executable, ["-p", directory, "-c", directory + "/nginx.conf"], environment: [:],
      output: directory + "/log", errors: directory + "/log")
    let client = HTTPClient()
    let deadline = MonotonicTime.now() + .seconds(30)
    for port in [syncPort, billingPort] {
      let url = "http://127.0.0.1:\(port)/readyz"
      while (try? client.send("GET", url, timeout: .seconds(5)))?.status != 200 {
        guard MonotonicTime.now() < deadline else {
          throw ScenarioError("nginx does not serve: \(Files.text(directory + "/log") ?? "")")
        }
        usleep(20_000)
      }
    }
  }

  /// No instance is avoided after a failure, because the other one may be away the next moment.
  private static func upstream(_ name: String, _ servers: [Server], listen: UInt16) -> String {
    let places = servers.map { "server 127.0.0.1:\($0.port) max_fails=0;" }
    return """
      upstream \(name) { \(places.joined(separator: " ")) keepalive 16; }
        server { listen 127.0.0.1:\(listen); location / { proxy_pass http://\(name); } }
      """
  }
}

extension Balancer {
  /// Sends until an instance has answered, as clients do. A request may be at one instance after the other when they are
  /// killed, if they are slow; the balancer then has nobody left to ask.
  static func repeated<Reply>(
    _ status: KeyPath<Reply, Int>, _ send: () throws -> Reply
  ) rethrows -> Reply {
    var reply = try send()
    for _ in 0..<100 where reply[keyPath: status] == 502 {
      usleep(100_000)
      reply = try send()
    }
    return reply
  }
}
