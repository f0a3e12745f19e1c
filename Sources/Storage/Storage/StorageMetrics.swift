import Base

enum StorageMetrics {
  static let batchSize = Metrics.shared.histogram(
    "coffer_storage_batch_size", "Writes that shared one commit",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
  static let writeTime = Metrics.shared.histogram(
    "coffer_storage_write_seconds",
    "Time of one write under the writer's lock, or while it held rows",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5])
  static let queuedWrites = Metrics.shared.gauge(
    "coffer_storage_queued_writes", "Writes waiting for their transaction")
  static let brokenBatches = Metrics.shared.counter(
    "coffer_storage_broken_batches_total", "Batches whose writes had to run one by one")
  static let repeatedBatches = Metrics.shared.counter(
    "coffer_storage_repeated_batches_total",
    "Batches run again with savepoints because one of their writes failed after it had written")
  static let conflicts = Metrics.shared.counter(
    "coffer_storage_conflicts_total", "Transactions repeated after a conflict")
  static let logFrames = Metrics.shared.gauge(
    "coffer_storage_log_frames", "Frames in the SQLite write-ahead log")

  static let newsSent = Metrics.shared.counter(
    "coffer_storage_news_sent_total", "Messages about commits that were sent to other programs")
  static let newsLost = Metrics.shared.counter(
    "coffer_storage_news_lost_total", "Messages about commits that could not be sent")
  static let newsInterruptions = Metrics.shared.counter(
    "coffer_storage_news_interruptions_total",
    "Times that this program could not receive messages about commits")

  /// Exposes every instrument with the value 0: alert rules do not see the event with which one first appears.
  static func register() {
    _ = (batchSize, writeTime, queuedWrites, brokenBatches, repeatedBatches, conflicts, logFrames)
    _ = (newsSent, newsLost, newsInterruptions)
    _ = (statements, returnedRows, changedRows, steps)
  }

  private typealias Counters = [WorkCounter.Kind: Metrics.Counter]

  private static let statements: Counters = Metrics.shared.counters(
    "coffer_storage_statements_total", "Statements that transactions ran", by: "transaction")
  private static let returnedRows: Counters = Metrics.shared.counters(
    "coffer_storage_returned_rows_total", "Rows that statements returned", by: "transaction")
  private static let changedRows: Counters = Metrics.shared.counters(
    "coffer_storage_changed_rows_total",
    "Rows that statements inserted, updated or deleted", by: "transaction")
  private static let steps: Counters = Metrics.shared.counters(
    "coffer_storage_steps_total", "Steps of SQLite's virtual machine", by: "transaction")

  static func add(_ work: DatabaseWork, _ kind: WorkCounter.Kind) {
    statements[kind]?.add(work.statementCount)
    returnedRows[kind]?.add(work.returnedRowCount)
    changedRows[kind]?.add(work.changedRowCount)
    steps[kind]?.add(work.stepCount)
  }
}
