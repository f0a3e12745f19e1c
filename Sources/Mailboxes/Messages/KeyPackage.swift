import Base
import Crypto
import JSON
import Requests

/// A key package of MLS (RFC 9420, section 10), as its bytes, bare or as an MLSMessage.
///
/// The server reads it as far as its signature key, which must be that of the device: then no device offers itself under
/// another's name. All the rest is for the devices that claim it.
struct KeyPackage: Hashable, Sendable {
  let bytes: [UInt8]

  static let byteCountMax = 8 << 10
  /// The charge besides the fee of a record and the bytes: the row and its part of the indexes.
  static let overheadByteCount: Int64 = 128
  /// `mls_key_package` among the wire formats. As a cipher suite the number has no Ed25519 key.
  private static let wireFormat = 5

  init(_ json: JSON, of device: [UInt8]) throws(RequestRefusal) {
    bytes = try json.base64(byteCount: 1...Self.byteCountMax)
    guard signatureKey == device else {
      throw .bodyInvalid(
        path: json.path,
        rule: "must be a key package of MLS 1.0 whose signature key is that of the device")
    }
  }

  var digest: [UInt8] { SHA256.hash(bytes) }
  var chargedByteCount: Int64 { Int64(bytes.count) + Self.overheadByteCount }

  /// `leaf_node.signature_key`; nil if it is not where it must be.
  private var signatureKey: [UInt8]? {
    var rest = bytes[...]
    guard takeNumber(&rest) == 1, var suite = takeNumber(&rest) else { return nil }
    if suite == Self.wireFormat {
      guard takeNumber(&rest) == 1, let inner = takeNumber(&rest) else { return nil }
      suite = inner
    }
    guard suite != Self.wireFormat, takeVector(&rest) != nil, takeVector(&rest) != nil else {
      return nil
    }
    return takeVector(&rest)
  }

  /// A `uint16`.
  private func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard rest.count >= 2 else { return nil }
    return Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
  }

  /// A vector after its length of variable size (RFC 9420, section 2.1.2).
  private func takeVector(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard let first = rest.popFirst() else { return nil }
    var count = Int(first & 0x3F)
    guard let extra = [0: 0, 1: 1, 2: 3][first >> 6], rest.count >= extra else { return nil }
    for _ in 0..<extra { count = count << 8 | Int(rest.removeFirst()) }
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}
