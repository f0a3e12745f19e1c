import Glibc

/// A socket's address in numeric form; IPv4 if it is mapped into IPv6.
func addressText(_ storage: inout sockaddr_storage) -> String {
  var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
  let isIPv6 = Int32(storage.ss_family) == AF_INET6
  unsafe withUnsafeBytes(of: &storage) { bytes in
    // After family and port and, in IPv6, the flow label.
    let address = unsafe bytes.baseAddress! + (isIPv6 ? 8 : 4)
    _ = unsafe inet_ntop(isIPv6 ? AF_INET6 : AF_INET, address, &text, socklen_t(INET6_ADDRSTRLEN))
  }
  let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return name.hasPrefix("::ffff:") && name.contains(".") ? String(name.dropFirst(7)) : name
}
