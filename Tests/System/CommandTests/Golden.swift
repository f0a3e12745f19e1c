internal import Glibc
import Testing

/// Compares a text with the file of that name under `Goldens`.
///
/// A missing file is written, and so is every file under RECORD=1; the test fails all the same, so
/// that a new golden is looked at before it counts.
func expectGolden(
  _ text: String, _ name: String, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let source = #filePath
  let folder = source[..<(source.lastIndex(of: "/") ?? source.endIndex)] + "/Goldens"
  let path = "\(folder)/\(name).txt"
  let isRecording = unsafe getenv("RECORD") != nil
  if !isRecording, unsafe access(path, F_OK) == 0 {
    let golden = try Scratch.text(path)
    #expect(text == golden, sourceLocation: sourceLocation)
    return
  }
  try Scratch.write(text, to: path)
  Issue.record("recorded \(path): look at it", sourceLocation: sourceLocation)
}
