import Base
import Crypto

/// What a request says of its body, so that a service refuses bytes that changed on the way.
struct BodyDigest {
  /// Part of the signature. AWS compares it with the body; SeaweedFS 4.48 and rclone 1.75 do not.
  let sha256: [UInt8]
  /// Compared by every service that is known. Nil where TLS protects the way.
  let md5: [UInt8]?

  init(sha256: [UInt8], md5: [UInt8]?) { (self.sha256, self.md5) = (sha256, md5) }

  init(_ bytes: [UInt8], withMD5: Bool) {
    let md5 = withMD5 ? MD5Stream() : nil
    md5?.update(unsafe bytes.span.bytes)
    self.init(sha256: SHA256.hash(bytes), md5: md5?.finalize())
  }

  var headers: [(String, String)] {
    md5.map { [("Content-MD5", Base64.standard.encode($0))] } ?? []
  }
}
