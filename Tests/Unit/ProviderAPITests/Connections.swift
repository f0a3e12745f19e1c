import TestFiles
import Testing

/// The clients of a port of this machine that are connected, or were within the last minute. A closed
/// connection stays listed that long (TIME_WAIT), so clients of an earlier user of the port may be included.
func connections(to port: UInt16) throws -> Set<Substring> {
  let connections = try #require(Files.text("/proc/net/tcp"))
  let digits = String(port, radix: 16, uppercase: true)
  let suffix = ":" + String(repeating: "0", count: 4 - digits.count) + digits
  var clients: Set<Substring> = []
  for line in connections.split(separator: "\n").dropFirst() {
    let columns = line.split(separator: " ")
    let (local, remote) = (columns[1], columns[2])
    if remote.hasSuffix(suffix) { clients.insert(local) }
    if local.hasSuffix(suffix), !remote.hasSuffix(":0000") { clients.insert(remote) }
  }
  return clients
}
