import Base
import RecordedStories
import TestEngines

/// The result of ten Stripe stories, delivered to one coffer-billing in the order of their times.
struct SeptemberShop {
  private static let names = [
    "renewal", "addition-bought-together", "trial-then-paid", "failed-payment-grace-recovery",
    "refund-of-the-current-period", "dispute-lost", "upgrade-to-year", "resubscribe",
    "plan-by-year-and-addition-by-month", "failed-payment-lapse",
  ]

  static let stories = RecordedStory.all.filter { story in
    names.contains { story.name == "stripe/2026-07-29.dahlia/\($0)" }
  }

  let scratch: ScratchDirectory
  let environment: [String: String]
  private let billing: Running

  init() throws {
    let running = try RunningBilling(at: Instant(rfc3339: "2026-08-01T00:00:00Z")!)
    (scratch, environment, billing) = (running.scratch, running.environment, running.program)
    let steps = Self.stories.flatMap { story in
      story.steps.compactMap { step in
        step.delivery.map { (at: step.at, path: "\(story.name)/\($0.name)") }
      }
    }.sorted { ($0.at, $0.path) < ($1.at, $1.path) }
    _ = try coffer("migrate")
    for (index, story) in Self.stories.prefix(2).enumerated() {
      _ = try coffer(
        "account", "create", "--id", story.account.description, "--username", "user\(index)",
        "--key-file", "\(scratch.path)/\(index).key")
    }
    for step in steps {
      try scratch.setClock(step.at)
      _ = try coffer("webhook", "send", "\(RecordedStory.folder)/\(step.path)")
    }
    try scratch.setClock(Instant(rfc3339: "2026-11-15T08:30:00Z")!)
  }

  func coffer(_ words: String...) throws -> Finished {
    try Finished(words, environment: environment)
  }
}
