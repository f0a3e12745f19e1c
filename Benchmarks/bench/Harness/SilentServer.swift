import Glibc

/// A port that accepts connections and never answers.
struct SilentServer {
  let port: UInt16
  private let descriptor: Int32

  init() throws(BenchError) {
    (descriptor, port) = try ServerProcess.boundSocket()
    guard listen(descriptor, 128) == 0 else { throw .system("listen", errno: errno) }
  }

  func close() { Glibc.close(descriptor) }
}
