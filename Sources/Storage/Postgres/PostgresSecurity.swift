package import Base
import CPostgres
import Glibc

/// The security of a connection if neither the URL nor the environment sets it.
///
/// libpq's default, `prefer`, requires no proof of the server's identity. So a server on another machine must prove
/// with its certificate that it is the one named (`verify-full`).
package enum PostgresSecurity {
  /// The sslmode to connect with. Nil if it is set elsewhere, or the server is on this machine.
  package static func mode(
    of url: Secret, environment: (String) -> String? = environmentVariable
  ) -> String? {
    guard let values = settings(of: url) else { return nil }
    guard values["sslmode"] == nil, environment("PGSSLMODE") == nil else { return nil }
    // A service file may name any host.
    let hasService = (values["service"] ?? environment("PGSERVICE")) != nil
    let hosts =
      values["hostaddr"] ?? environment("PGHOSTADDR") ?? values["host"] ?? environment("PGHOST")
      ?? ""
    let isFar = hosts.split(separator: ",", omittingEmptySubsequences: false).contains { host in
      !isLocal(String(host))
    }
    return isFar || hasService ? "verify-full" : nil
  }

  /// The URL's settings, as libpq reads them; nil if it cannot.
  private static func settings(of url: Secret) -> [String: String]? {
    guard
      let options = unsafe PQconninfoParse(String(decoding: url.exposed, as: UTF8.self), nil)
    else { return nil }
    defer { unsafe PQconninfoFree(options) }
    var values: [String: String] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val, unsafe value.pointee != 0 {
        values[unsafe String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe option += 1
    }
    return values
  }

  /// An empty host means the server's usual socket in the file system.
  private static func isLocal(_ host: String) -> Bool {
    if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
    if host == "localhost" || host == "::1" { return true }
    var address = in_addr()
    let isAddress = unsafe inet_pton(AF_INET, host, &address) == 1
    return isAddress && host.hasPrefix("127.")
  }
}
