internal import Glibc

/// A file with the given text that is removed with this value.
final class ScratchFile {
  let path: String

  struct Failure: Error {}

  init(_ text: String) throws {
    var template = Array("/tmp/coffer-configuration-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&template)
    guard file >= 0 else { throw Failure() }
    close(file)
    path = String(
      decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    try Self.write(text, to: path)
  }

  static func write(_ text: String, to path: String) throws {
    guard let file = unsafe fopen(path, "w") else { throw Failure() }
    let bytes = Array(text.utf8)
    let count = unsafe fwrite(bytes, 1, bytes.count, file)
    guard unsafe fclose(file) == 0, count == bytes.count else { throw Failure() }
  }

  /// The text of a file of at most 1 MiB.
  static func text(_ path: String) throws -> String {
    guard let file = unsafe fopen(path, "r") else { throw Failure() }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = unsafe fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  deinit { unsafe unlink(path) }
}

extension String {
  /// This text with the first occurrence of `part` replaced.
  func replacingFirst(_ part: String, with other: String) -> String {
    guard let range = firstRange(of: part) else { return self }
    return replacingCharacters(in: range, with: other)
  }

  private func replacingCharacters(in range: Range<Index>, with other: String) -> String {
    String(self[..<range.lowerBound]) + other + self[range.upperBound...]
  }
}
