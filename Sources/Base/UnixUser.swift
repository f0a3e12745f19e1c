internal import Glibc

/// The Unix user that this process runs as, by name, or by number where it has none.
package enum UnixUser {
  package static var name: String {
    let id = geteuid()
    guard let entry = unsafe getpwuid(id), let name = unsafe entry.pointee.pw_name else {
      return "\(id)"
    }
    return unsafe String(cString: name)
  }
}
