import TestEngines
import TestFiles

/// A file with the given text, accessible to its owner alone and removed with this value.
final class ScratchFile {
  let path: String
  private let directory: ScratchDirectory

  init(_ text: String) throws {
    directory = try ScratchDirectory()
    path = directory.path + "/file"
    try Files.write(text, to: path, isSecret: true)
  }
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
