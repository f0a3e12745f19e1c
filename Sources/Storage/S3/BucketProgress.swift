import Base
import Objects

/// What a bucket has of an unfinished object, as its upload's row keeps it: 17 bytes for each part of 8 MiB.
///
/// Only this counts. A part or a tail that it does not name is no part of the object, whoever wrote it.
struct BucketProgress: Sendable, Equatable {
  /// The service's id of the upload in parts; empty before the first part.
  var upload = ""
  var tags: [String] = []
  /// The bytes behind the last part; nil if there are none.
  var tail: BucketTail?
  /// Tails that later ones, or parts, have replaced. The next writer removes them: only then no row names them.
  var replaced: [BucketTail] = []

  var tails: [BucketTail] { [tail].compactMap(\.self) + replaced }

  private static let replacedCountMax = 4
  private static let form: UInt8 = 1

  /// Adds a part, which covers the tail.
  mutating func add(part tag: String) {
    tags.append(tag)
    replaceTail(by: nil)
  }

  mutating func replaceTail(by next: BucketTail?) {
    // Those that do not fit are found by the sweep.
    if let tail, replaced.count < Self.replacedCountMax { replaced.append(tail) }
    tail = next
  }

  // MARK: The row's bytes

  var bytes: [UInt8] {
    guard self != BucketProgress() else { return [] }
    var bytes = [Self.form]
    Self.append(upload, to: &bytes)
    bytes.append(tail == nil ? 0 : 1)
    bytes.append(UInt8(replaced.count))
    for tail in tails {
      for number in [UInt64(tail.end), tail.random] {
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
      }
    }
    for tag in tags {
      if let digest = Self.digest(tag) {
        bytes.append(0)
        bytes += digest
      } else {
        Self.append(tag, to: &bytes)
      }
    }
    return bytes
  }

  init?(_ bytes: [UInt8]) {
    self.init()
    guard !bytes.isEmpty else { return }
    var reader = Reader(rest: bytes[...])
    guard reader.byte() == Self.form, let upload = reader.text(), let tailCount = reader.byte(),
      tailCount < 2, let replacedCount = reader.byte()
    else { return nil }
    self.upload = upload
    for index in 0..<Int(tailCount) + Int(replacedCount) {
      guard let end = reader.number(), let random = reader.number() else { return nil }
      let tail = BucketTail(end: Int64(truncatingIfNeeded: end), random: random)
      if index < tailCount { self.tail = tail } else { replaced.append(tail) }
    }
    while !reader.rest.isEmpty {
      guard let tag = reader.rest.first == 0 ? reader.tag() : reader.text() else { return nil }
      tags.append(tag)
    }
  }

  init() {}

  /// The bytes of an ETag that is a digest in quotes, as most are.
  private static func digest(_ tag: String) -> [UInt8]? {
    guard tag.utf8.count == 34, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
    let text = String(tag.dropFirst().dropLast())
    guard let digest = Hex.decode(text), Hex.encode(digest) == text else { return nil }
    return digest
  }

  /// Texts have at most 255 bytes (`BucketClient.beginParts`, `sendPart`).
  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(text.utf8.count))
    bytes += text.utf8
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func text() -> String? {
      byte().flatMap { take(Int($0)) }.map { String(decoding: $0, as: UTF8.self) }
    }

    mutating func number() -> UInt64? {
      take(8)?.reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func tag() -> String? {
      take(17).map { "\"\(Hex.encode($0.dropFirst()))\"" }
    }
  }
}

/// A small object with the bytes of an unfinished upload that fill no part, so that they survive the request that
/// brought them. Its name has a random number, so that no two writers ever share one.
struct BucketTail: Sendable, Equatable {
  static let folder = "tmp/"

  /// The position in the content behind its last byte.
  let end: Int64
  let random: UInt64

  func name(_ key: Identifier) -> String { "\(Self.folder)\(key).\(end).\(random)" }

  /// The upload whose tail has this name, without the folder.
  static func key(_ name: String) -> Identifier? {
    name.split(separator: ".").first.flatMap { Identifier(String($0)) }
  }
}
