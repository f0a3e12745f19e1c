import Answers
package import Base
package import CommandLine
import Configuration
import Glibc
import JSON
import Ledger
import Storage
import Sync

/// Waits until both programs have erased an account whose deletion was just asked for.
package struct DeletionWait {
  private let account: Identifier
  private let patience: Instant.Span

  private static let pause: useconds_t = 200_000

  package init(of account: Identifier, atMost patience: Instant.Span) {
    (self.account, self.patience) = (account, patience)
  }

  /// What the answer has in addition to the act, once it is done.
  package static let shape: [JSONShape.Member] = [
    .init("state", .text, isOptional: true), .init("erased", .orNull(.time), isOptional: true),
    .init("parts", DeletionParts.shape, isOptional: true),
  ]

  private enum End {
    case erased
    case timeout
    case signal(Int32)
  }

  /// The answer to an act that is done, with the progress of both programs when the wait ends.
  /// Opens the database anew, so that none of its threads receives a signal.
  package func answer(behind act: Answer, _ invocation: Invocation) throws -> Answer {
    Interruption.hold()
    return try DatabaseSession.withAnyCatalogue(invocation) { database, _ in
      let (progress, end) = try wait(database)
      var answer = act.adding(
        [
          .init("state", .string(progress.state.rawValue)),
          .init("erased", progress.erased.map { .string($0.description) } ?? .null),
          .init("parts", progress.parts.json),
        ], text: progress.lines)
      let again = "the deletion of \(account) continues: coffer find \(account) shows its state"
      switch end {
      case .erased: break
      case .timeout:
        answer.code = .unfinished
        answer.notice = "not done after \(SpanText.text(patience)); \(again)"
      case .signal(let signal):
        answer.whenWritten = {
          StandardError.write("coffer: interrupted; \(again)")
          kill(getpid(), signal)
        }
      }
      return answer
    }
  }

  private func wait(_ database: Database) throws -> (DeletionProgress, End) {
    let end = MonotonicTime.now() + patience
    var last: DeletionParts?
    while true {
      let found = try database.read { try DeletionProgress(of: account, reading: $0) }
      guard let progress = found else {
        throw CommandFailure(.refused, "the deletion of \(account) was cancelled meanwhile")
      }
      if progress.parts != last {
        StandardError.write("coffer: \(progress.parts.text)")
        last = progress.parts
      }
      if progress.state == .erased { return (progress, .erased) }
      if let signal = Interruption.taken() { return (progress, .signal(signal)) }
      guard MonotonicTime.now() < end else { return (progress, .timeout) }
      usleep(Self.pause)
    }
  }
}

extension DeletionProgress {
  fileprivate var lines: String {
    Prose.fields([
      ("state", state.rawValue + (erased.map { ", \($0)" } ?? "")), ("sync", parts.sync.rawValue),
      ("billing", parts.billing.rawValue), ("stores", parts.stores.rawValue),
    ])
  }
}
