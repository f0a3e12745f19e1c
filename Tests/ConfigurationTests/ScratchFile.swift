internal import Glibc

/// A file with the given text that is removed with this value.
final class ScratchFile {
  let path: String

  struct Failure: Error {}

  init(_ text: String) throws {
    var template = Array("/tmp/coffer-configuration-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&template)
    guard file >= 0 else { throw Failure() }
    defer { close(file) }
    path = String(
      decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let bytes = Array(text.utf8)
    guard unsafe write(file, bytes, bytes.count) == bytes.count else { throw Failure() }
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
