import Glibc

/// The files, including sockets, that this process may have open.
package enum Descriptors {
  /// Reserved for the database's files, the objects being written, logs and the like.
  static let reservedCount = 256

  /// Raises the limit as far as the system allows without more rights, and returns it.
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

  /// The handed-over connections that so many descriptors suffice for: as wanted, or the usual number and at most half.
  package static func streamCountMax(of descriptorCount: Int, wanted: Int?) -> Int {
    let free = max(32, descriptorCount - reservedCount)
    return wanted.map { min($0, free - free / 16) } ?? min(10_000, free / 2)
  }

  /// The connections that so many descriptors suffice for. Each may have a file open, for a download or an upload.
  package static func connectionCountMax(of descriptorCount: Int) -> Int {
    max(16, (descriptorCount - reservedCount) / 2)
  }
}

extension ServerLimits {
  /// The limits of a server on the internet: no more connections than the process has descriptors for.
  package init(connectionsPerAddressMax: Int, descriptorCount: Int) {
    self.init()
    self.connectionsPerAddressMax = connectionsPerAddressMax
    connectionCountMax = min(
      connectionCountMax, Descriptors.connectionCountMax(of: descriptorCount))
  }
}
