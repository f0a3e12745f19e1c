import Base
package import CommandLine
import Configuration
package import Crypto

/// A device's secret key on disk: the 32-byte Ed25519 seed in base64, one line, for its owner only.
package enum KeyFile {
  /// Writes a new file; an existing one is never touched.
  package static func write(_ key: Ed25519PrivateKey, to path: String) throws(CommandFailure) {
    try OutputFile.write(Array((Base64.standard.encode(key.seed.exposed) + "\n").utf8), to: path)
  }

  package static func read(_ path: String) throws(CommandFailure) -> Ed25519PrivateKey {
    let text = String(decoding: try InputFile.bytes(at: path), as: UTF8.self)
    let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
    guard let seed = Base64.standard.decode(line), let key = Ed25519PrivateKey(seed: Secret(seed))
    else {
      throw CommandFailure(.refused, "\(path) does not hold a key: 32 bytes in base64")
    }
    return key
  }
}
