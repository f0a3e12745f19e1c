internal import Glibc

/// The files that this process may have open, sockets among them.
package enum Descriptors {
  /// Kept for the database's files, the objects being written, logs and the like.
  static let reservedCount = 256

  /// Raises the limit as far as the system allows without more rights, and answers what it is.
  package static func raiseLimit() -> Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return 1024
    }
    if limit.rlim_cur < limit.rlim_max {
      var wanted = limit
      wanted.rlim_cur = limit.rlim_max
      if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted) == 0 {
        limit = wanted
      }
    }
    return Int(clamping: limit.rlim_cur)
  }

  /// How many connections so many descriptors are enough for: each may have a file of its own open,
  /// what it downloads or uploads.
  package static func connectionCountMax(of descriptorCount: Int) -> Int {
    max(16, (descriptorCount - reservedCount) / 2)
  }
}

extension ServerLimits {
  /// Those of a server that the internet reaches: as many connections as the process has descriptors
  /// for, up to the usual limit.
  package init(connectionsPerAddressMax: Int, descriptorCount: Int) {
    self.init()
    self.connectionsPerAddressMax = connectionsPerAddressMax
    connectionCountMax = min(
      connectionCountMax, Descriptors.connectionCountMax(of: descriptorCount))
  }
}
