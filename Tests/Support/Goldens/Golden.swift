import Glibc
import TestFiles
package import Testing

/// Compares a text with the file of that name under `Goldens`, in the folder of the test's own file.
///
/// A missing file is written, and with RECORD=1 every file is. The test fails all the same, so that a new
/// golden is reviewed before it counts.
package func expectGolden(
  _ text: String, _ name: String, beside source: String = #filePath,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let folder = source.split(separator: "/").dropLast().joined(separator: "/")
  try expectGolden(text, file: "/\(folder)/Goldens/\(name).txt", sourceLocation: sourceLocation)
}

/// Compares a text with any file, by its absolute path.
package func expectGolden(
  _ text: String, file path: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  guard unsafe getenv("RECORD") == nil, let golden = Files.text(path) else {
    try Files.write(text, to: path)
    Issue.record("recorded \(path): look at it", sourceLocation: sourceLocation)
    return
  }
  let (ours, theirs) = (lines(text), lines(golden))
  let first = zip(ours, theirs).first { $0 != $1 }
  #expect(ours.count == theirs.count, "\(path)", sourceLocation: sourceLocation)
  #expect(first?.0 == first?.1, "\(path)", sourceLocation: sourceLocation)
}

/// Compares the text between `<!-- name -->` and `<!-- end -->` in a document of the repository; RECORD=1
/// writes it.
package func expectBlock(_ name: String, of document: String, _ text: String) throws {
  let path = "\(Files.repository)/\(document)"
  let page = try #require(Files.text(path))
  let start = try #require(page.firstRange(of: "<!-- \(name) -->\n")).upperBound
  let end = try #require(page[start...].firstRange(of: "<!-- end -->")).lowerBound
  guard page[start..<end] != text else { return }
  try expectGolden(page[..<start] + text + page[end...], file: path)
}

private func lines(_ text: String) -> [Substring] {
  text.split(separator: "\n", omittingEmptySubsequences: false)
}
