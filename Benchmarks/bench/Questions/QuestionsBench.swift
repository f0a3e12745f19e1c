import Base
import Configuration
import Crypto
import KnownStores
import Ledger
import Objects
import Storage
import TestFiles
import Tiers

/// The operator's cookbook with many accounts. Every question is asked once, by the operator's program, about
/// accounts that all pay or paid recently.
struct QuestionsBench {
  /// The time limit of a question that looks something up.
  private static let limitMilliseconds = 1000
  /// The memory limit of any question, however many accounts there are.
  private static let limitMebibytes = 256
  /// Half of the subscriptions ended within this number of days. Those that ended a week ago lost their plan.
  private static let dayCount = 15

  private let options: Options
  private let workspace: Workspace
  private let progress = Progress("questions")

  init(_ options: Options, _ workspace: Workspace) {
    var options = options
    options.subscriptionCount = options.accountCount
    options.dayCount = Self.dayCount
    self.options = options
    self.workspace = workspace
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .questions, facts: try Machine(workspace, options).facts)
    let now = Instant.now
    let directory = try workspace.directory("database")
    let (sealingKey, searchKey) = (Random.bytes(32), Random.bytes(32))
    let catalogue = (Files.text("\(WebhookBench.files)/catalogue.json") ?? "")
      .replacing("\"bytes\": 1000000000000 ", with: "\"bytes\": \(QuestionsFill.freeByteCount) ")
    let plans = try workspace.write(Array(catalogue.utf8), "plans.json")
    try fill(directory, catalogue, sealingKey, searchKey, now)
    let environment = [
      "COFFER_DATABASE": "sqlite://\(directory)",
      "COFFER_OBJECTS": "file://\(try objects())",
      "COFFER_PLANS": plans, "COFFER_ACTOR": "carol",
      "COFFER_SEALING_KEYS": Base64.standard.encode(sealingKey),
      "COFFER_SEARCH_KEY": Base64.standard.encode(searchKey),
    ]
    for question in Question.all(try subject(catalogue, now)) {
      progress.note(question.name)
      report.answers.append(
        try QuestionAnswer(
          question, by: workspace.program("coffer"), environment: environment,
          scratch: workspace.file("answer")))
    }
    report.failures = report.answers.compactMap(\.failure)
    report.facts += [
      ("accounts", "\(FoldBench.grouped(options.accountCount)), each with a subscription"),
      ("size after", try size(of: directory)),
    ]
    report.figures = Self.figures(report.answers)
    report.notes.append(
      "not asked, since they wait for a store: \(Question.askStores.joined(separator: " "))")
    return report
  }

  private static func figures(_ answers: [QuestionAnswer]) -> [Figure] {
    let slowest = answers.filter { !$0.question.readsAll }.map(\.milliseconds).max() ?? 0
    let largest = answers.map(\.peakKibibytes).max() ?? 0
    return [
      .cost(
        "slowest_question_milliseconds", slowest, "ms", "for the slowest of the questions",
        limit: limitMilliseconds),
      .cost(
        "largest_question_mebibytes", Double(largest) / 1024, "MiB",
        "the most memory of any, of those that read everything, too", limit: limitMebibytes),
    ]
  }

  private func fill(
    _ directory: String, _ catalogue: String, _ sealingKey: [UInt8], _ searchKey: [UInt8],
    _ now: Instant
  ) throws(BenchError) {
    let (rules, sealing): (LedgerRules, SealingKeys)
    do {
      rules = LedgerRules(catalogue: try CatalogueFile.catalogue(of: Array(catalogue.utf8)))
      sealing = try SealingKeys([Secret(sealingKey)])
    } catch {
      throw .command("no catalogue or no sealing key: \(error)")
    }
    let ledger = Ledger(stores: .known, rules: rules)
    let plan = BacklogPlan(options, now: now)
    let stripe = try StripeEvents(
      directory: WebhookBench.files, secret: Secret("nobody checks it"), seed: 1, isLive: true)
    let paid = plan.monthEnd(index) - BacklogPlan.month
    let event = stripe.event(template: 1, order: index, serial: index, at: paid, signed: paid)
    progress.note("filling \(FoldBench.grouped(options.accountCount)) accounts")
    try QuestionsFill(accountCount: options.accountCount, now: now, progress: progress)
      .run(in: directory)
    try BacklogFill(
      plan: plan, sealing: sealing, ledger: ledger, progress: progress,
      search: SearchKey(Secret(searchKey)), bodies: [index: event.body]
    ).run(in: directory)
    try establish(ledger, directory, now)
  }

  /// Does what the first coffer-billing does when it starts.
  private func establish(
    _ ledger: Ledger, _ directory: String, _ now: Instant
  ) throws(BenchError) {
    do {
      let database = try Database.open(.sqlite(directory: directory), owning: .billing)
      defer { database.close() }
      _ = try database.write(for: nil) { transaction in
        try CatalogueOfRecord.establish(ledger.rules.catalogue, at: now, in: transaction)
      }
      _ = try ledger.deriveAnew(on: database, clock: .system) { _, _ in }
    } catch {
      throw .command("making the catalogue the one of record: \(error)")
    }
  }

  /// A Stripe subscription in the middle of all.
  private var index: Int { options.accountCount / 6 * 3 }

  private func subject(
    _ catalogue: String, _ now: Instant
  ) throws(BenchError) -> Question.Subject {
    let smaller = catalogue.replacing("\"bench-1\"", with: "\"bench-2\"")
      .replacing("30000000000000", with: "20000000000000")
    return Question.Subject(
      account: QuestionsFill.name(index), other: QuestionsFill.name(index + 1),
      subscription: BacklogFill.stripeID(Serial.digits(index)),
      delivery: BacklogFill.deliveryID(index), address: BacklogFill.address(index),
      key: Hex.encode(QuestionsFill.key(index)),
      plans: try workspace.write(Array(smaller.utf8), "smaller.json"),
      backups: try workspace.directory("backups"), restored: workspace.file("restored"),
      sinceYesterday: "\(now - .days(1))", nextWeek: "\(now + .days(7))")
  }

  private func objects() throws(BenchError) -> String {
    let path = try workspace.directory("objects")
    do { _ = try DirectoryStore(directory: path) } catch {
      throw .command("making the objects' directory: \(error)")
    }
    return path
  }

  private func size(of directory: String) throws(BenchError) -> String {
    let text = try workspace.output("du", "--summarize", "--block-size=1M", directory)
    return "\(text.prefix(while: \.isNumber)) MiB of databases"
  }
}
