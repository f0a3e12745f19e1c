import TestFiles

/// A text with regions that the bench prints, each between two marks.
struct Document {
  private let path: String

  init(_ path: String) { self.path = path }

  /// Throws unless the text has a region about the subject. Called before the measurement, so that the error
  /// comes early.
  func require(_ subject: Options.Subject) throws(BenchError) {
    _ = try parts(about: subject)
  }

  /// Replaces the content of the region.
  func write(_ tables: String, about subject: Options.Subject) throws(BenchError) {
    let (before, after) = try parts(about: subject)
    do throws(FileError) { try Files.write("\(before)\n\(tables)\n\(after)", to: path) } catch {
      throw .command("\(error)")
    }
  }

  /// The text before the region and after it, including the marks.
  private func parts(
    about subject: Options.Subject
  ) throws(BenchError) -> (before: Substring, after: Substring) {
    let (begin, end) = ("<!-- ops/bench \(subject.rawValue) -->\n", "<!-- end -->")
    guard let text = Files.text(path), let start = text.firstRange(of: begin),
      let stop = text[start.upperBound...].firstRange(of: end)
    else { throw .usage("--write \(path): it has no lines \(begin.dropLast()) and \(end)") }
    return (text[..<start.upperBound], text[stop.lowerBound...])
  }
}
