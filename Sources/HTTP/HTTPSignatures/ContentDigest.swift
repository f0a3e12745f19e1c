import Base
import Crypto

/// The hashes that a Content-Digest field announces for the body (RFC 9530).
///
/// If the field has both algorithms, both must match. Other algorithms are ignored.
package struct ContentDigest: Sendable, Equatable {
  package enum Algorithm: String, Sendable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    fileprivate var byteCount: Int { self == .sha256 ? 32 : 64 }

    fileprivate func makeStream() -> DigestStream {
      switch self {
      case .sha256: SHA256Stream()
      case .sha512: SHA512Stream()
      }
    }
  }

  package struct Value: Sendable, Equatable {
    package let algorithm: Algorithm
    package let bytes: [UInt8]
  }

  /// One or two values, never of the same algorithm.
  package let values: [Value]

  package static func parse(_ field: [UInt8]) throws(SignatureRefusal) -> ContentDigest {
    let entries: [StructuredField.Entry]
    do { entries = try StructuredFieldParser.dictionary(field) } catch { throw .digestMalformed }
    var values: [Value] = []
    for entry in entries {
      guard case .item(let item) = entry.member, let bytes = item.value.bytes else {
        throw .digestMalformed
      }
      guard let algorithm = Algorithm(rawValue: entry.name) else { continue }
      guard bytes.count == algorithm.byteCount else { throw .digestMalformed }
      values.append(Value(algorithm: algorithm, bytes: bytes))
    }
    guard !values.isEmpty else { throw .digestUnsupported }
    return ContentDigest(values: values)
  }

  /// The field's value for a body, with sha-256.
  package static func header(for body: [UInt8]) -> String {
    "sha-256=:" + Base64.standard.encode(SHA256.hash(body)) + ":"
  }

  /// Whether a body in memory is the announced one.
  package func matches(_ body: [UInt8]) -> Bool {
    values.allSatisfy { value in
      switch value.algorithm {
      case .sha256: SHA256.hash(body) == value.bytes
      case .sha512: SHA512.hash(body) == value.bytes
      }
    }
  }

  /// Starts the check of a body that arrives in pieces.
  package func makeCheck() -> ContentDigestCheck { ContentDigestCheck(self) }
}

/// Checks a body that arrives in pieces. Use it from one thread at a time, and not after `matches`.
package final class ContentDigestCheck {
  private let streams: [(stream: DigestStream, bytes: [UInt8])]

  fileprivate init(_ digest: ContentDigest) {
    streams = digest.values.map { ($0.algorithm.makeStream(), $0.bytes) }
  }

  package func update(_ bytes: RawSpan) {
    for (stream, _) in streams { stream.update(bytes) }
  }

  /// Whether the bytes given so far are the whole announced body. Call it once.
  package func matches() -> Bool {
    streams.allSatisfy { stream, bytes in stream.finalize() == bytes }
  }
}
