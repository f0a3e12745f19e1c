import Base
import Glibc
import JSON
import TestFiles

/// The cost of one question of the cookbook: one run of `coffer`, from its start to its end.
struct QuestionAnswer {
  let question: Question
  let milliseconds: Double
  let peakKibibytes: Int
  /// The exit code; nil if a signal ended the command.
  let code: Int32?
  /// The last output, for a person who must find out why the question was not answered.
  let lastWords: String

  /// The interval at which a command's memory is read. What it takes after the last reading is not seen.
  private static let pollMicroseconds: UInt32 = 1000

  init(
    _ question: Question, by program: String, environment: [String: String], scratch: String
  ) throws(BenchError) {
    let start = MonotonicTime.now()
    let process = try Command.spawn(
      [program] + question.words, environment: environment, output: scratch)
    var (status, peak): (Int32, Int) = (0, 0)
    while true {
      // The kernel's number for an ended child (`ru_maxrss`) would include our memory.
      peak = ServerProcess.kilobytes("VmHWM", of: process) ?? peak
      let ended = unsafe waitpid(process, &status, WNOHANG)
      guard ended != process else { break }
      guard ended == 0 else { throw .system("wait for \(program)", errno: errno) }
      usleep(Self.pollMicroseconds)
    }
    self.question = question
    milliseconds = MonotonicTime.now().seconds(since: start) * 1000
    peakKibibytes = peak
    code = status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    lastWords = (Files.text(scratch) ?? "").split(separator: "\n").suffix(3)
      .joined(separator: " / ")
  }

  /// Nil if the question was answered.
  var failure: String? {
    guard code != question.code else { return nil }
    return "\(question.name) (coffer \(question.words.joined(separator: " "))) ended with "
      + "\(code.map { "code \($0)" } ?? "a signal") instead of \(question.code): \(lastWords)"
  }

  /// One table of the questions that look something up, and one of those that must read everything.
  static func tables(_ answers: [QuestionAnswer]) -> [[[String]]] {
    [
      ("question", answers.filter { !$0.question.readsAll }),
      ("question that reads everything", answers.filter(\.question.readsAll)),
    ].filter { !$0.1.isEmpty }.map { head, answers in
      [[head, "ms", "MiB"]]
        + answers.map { answer in
          [
            answer.question.name, Figure.decimal(answer.milliseconds, places: 0),
            Figure.decimal(Double(answer.peakKibibytes) / 1024, places: 1),
          ]
        }
    }
  }

  var json: JSONValue {
    [
      "question": .string(question.name),
      "command": .array((["coffer"] + question.words).map { .string($0) }),
      "reads_all": .bool(question.readsAll),
      "microseconds": .integer(Int64(milliseconds * 1000)),
      "peak_kibibytes": .integer(Int64(peakKibibytes)),
      "code": code.map { .integer(Int64($0)) } ?? nil,
    ]
  }
}
