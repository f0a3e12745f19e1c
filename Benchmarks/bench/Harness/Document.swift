internal import TestFiles

/// A text with regions that are printed by the bench, each between two marks.
struct Document {
  private let path: String

  init(_ path: String) { self.path = path }

  /// Throws unless it has a region about the subject, which is better known before the measurement.
  func require(_ subject: Options.Subject) throws(BenchError) {
    _ = try parts(about: subject)
  }

  /// Replaces what stands in the region.
  func write(_ tables: String, about subject: Options.Subject) throws(BenchError) {
    let (before, after) = try parts(about: subject)
    do throws(FileError) { try Files.write("\(before)\n\(tables)\n\(after)", to: path) } catch {
      throw .command("\(error)")
    }
  }

  /// What stands before the region and after it, the marks included.
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
