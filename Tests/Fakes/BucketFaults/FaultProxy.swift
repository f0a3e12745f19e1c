import Base
import Glibc

/// A proxy before an S3 service that does to chosen requests what networks and services do now and then.
///
/// It passes everything else on unchanged, one request for each connection.
package final class FaultProxy: Sendable {
  package enum Fault: Sendable {
    /// 503 SlowDown, without asking the service.
    case busy
    /// 200, and in its body that it failed.
    case errorIn200
    /// 400 BadDigest, as for bytes that changed on the way.
    case badDigest
    /// The first byte of the body changes on the way to the service.
    case altered
    /// The answer ends after so many bytes.
    case cut(after: Int)
    /// The request waits for so many milliseconds.
    case slow(Int64)
    /// The service does what is asked, and no one hears of it.
    case lostAnswer
    /// The client's connection ends without an answer, and the service gets the request only in `land`.
    case late
    /// 400 ExpiredToken, as for credentials that have ended.
    case expired
    /// A list without what was just written.
    case emptyList
    /// A list that goes on, and does not say how.
    case brokenList
    /// A list of objects that has exactly these elements.
    case list(String)
    /// 200 with a page of something in between.
    case page
    /// 404 NoSuchUpload.
    case noSuchUpload
  }

  private struct Rule {
    let method: String
    let part: String
    let fault: Fault
    var count: Int
  }

  package let port: UInt16
  private let listener: Int32
  private let upstream: UInt16
  private let rules = Locked<[Rule]>([])
  private let hits = Locked(0)
  private let late = Locked<[[UInt8]]>([])

  /// `upstream` is a port of this machine.
  package init?(before upstream: UInt16) {
    self.upstream = upstream
    let incoming = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    listener = incoming
    var name = Self.local(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(incoming, address, length) == 0 && listen(incoming, 64) == 0
          && getsockname(incoming, address, &length) == 0
      }
    }
    port = UInt16(bigEndian: name.sin_port)
    guard isBound else { return nil }
    let (rules, hits, late) = (self.rules, self.hits, self.late)
    _ = Thread {
      // No one joins these threads.
      pthread_detach(pthread_self())
      while true {
        let client = accept(incoming, nil, nil)
        if client < 0 { return }
        _ = Thread {
          pthread_detach(pthread_self())
          FaultyExchange(client: client, upstream: upstream, late: late) { method, target in
            rules.withLock { rules in
              guard
                let place = rules.firstIndex(where: {
                  $0.count > 0 && $0.method == method && target.contains($0.part)
                })
              else { return nil }
              rules[place].count -= 1
              hits.withLock { $0 += 1 }
              return rules[place].fault
            }
          }.run()
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// The next `count` requests of this method whose target contains `part` suffer the fault.
  package func add(_ fault: Fault, _ method: String, _ part: String = "", count: Int = 1) {
    rules.withLock { $0.append(Rule(method: method, part: part, fault: fault, count: count)) }
  }

  /// Ends all faults.
  package func recover() { rules.withLock { $0 = [] } }

  /// How many requests suffered.
  package var hitCount: Int { hits.withLock { $0 } }

  /// Passes on the requests that were `late`, in their order. Returns the status of each.
  package func land() -> [Int] {
    late.withLock { late in
      defer { late = [] }
      return late.map { FaultyExchange.status(of: $0, upstream) }
    }
  }

  static func local(port: UInt16) -> sockaddr_in {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return name
  }
}
