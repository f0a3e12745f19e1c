/// The reason why a measurement could not be made. A slow server is not an error.
enum BenchError: Error, CustomStringConvertible {
  case usage(String)
  case system(String, errno: Int32)
  case server(String)
  case command(String)

  var description: String {
    switch self {
    case .usage(let text), .server(let text), .command(let text): text
    case .system(let text, let errno): "\(text): error \(errno)"
    }
  }
}
