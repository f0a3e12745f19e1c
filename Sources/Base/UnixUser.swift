import Glibc

/// Unix users, by name, or by number if a user has no name.
package enum UnixUser {
  /// The user that this process runs as.
  package static var name: String { name(of: geteuid()) }

  package static func name(of id: UInt32) -> String {
    guard let entry = unsafe getpwuid(id), let name = unsafe entry.pointee.pw_name else {
      return "\(id)"
    }
    return unsafe String(cString: name)
  }
}
