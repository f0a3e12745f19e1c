internal import Glibc
import Testing

/// Compares a text with the file of that name under `Goldens`.
///
/// A missing file is written, and so is every file under RECORD=1; the test fails all the same, so
/// that a new golden is looked at before it counts.
func expectGolden(
  _ text: String, _ name: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  let source = #filePath
  let folder = source[..<(source.lastIndex(of: "/") ?? source.endIndex)] + "/Goldens"
  let path = "\(folder)/\(name).txt"
  if unsafe getenv("RECORD") == nil, let golden = contents(of: path) {
    let (ours, theirs) = (lines(text), lines(golden))
    let first = zip(ours, theirs).first { $0 != $1 }
    #expect(ours.count == theirs.count, sourceLocation: sourceLocation)
    #expect(first?.0 == first?.1, sourceLocation: sourceLocation)
    return
  }
  guard let file = unsafe fopen(path, "w") else {
    Issue.record("\(path) cannot be written", sourceLocation: sourceLocation)
    return
  }
  let bytes = Array(text.utf8)
  unsafe fwrite(bytes, 1, bytes.count, file)
  unsafe fclose(file)
  Issue.record("recorded \(path): look at it", sourceLocation: sourceLocation)
}

private func lines(_ text: String) -> [Substring] {
  text.split(separator: "\n", omittingEmptySubsequences: false)
}

private func contents(of path: String) -> String? {
  guard let file = unsafe fopen(path, "r") else { return nil }
  defer { unsafe fclose(file) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = unsafe fread(&chunk, 1, chunk.count, file)
    if count == 0 { return String(decoding: bytes, as: UTF8.self) }
    bytes += chunk[..<count]
  }
}
