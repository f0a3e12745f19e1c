import Base

/// The storage instruments of this process.
enum StorageMetrics {
  static let batchSize = Metrics.shared.histogram(
    "coffer_storage_batch_size", "Writes that shared one commit",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
  static let queuedWrites = Metrics.shared.gauge(
    "coffer_storage_queued_writes", "Writes waiting for their transaction")
  static let brokenBatches = Metrics.shared.counter(
    "coffer_storage_broken_batches_total", "Batches whose writes had to be run alone")
  static let conflicts = Metrics.shared.counter(
    "coffer_storage_conflicts_total", "Transactions repeated after a conflict")
  static let logFrames = Metrics.shared.gauge(
    "coffer_storage_log_frames", "Frames in the SQLite write-ahead log")
}
