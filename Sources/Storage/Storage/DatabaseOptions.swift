package import Base
package import Migrations

/// The bounds of one `Database`. Programs use the defaults; tests make them small.
package struct DatabaseOptions: Sendable {
  /// How long another process may hold a lock before work fails as unavailable.
  package var lockWait = Instant.Span.seconds(5)
  /// How long a start waits for another program that migrates.
  package var startWait = Instant.Span.seconds(60)
  /// How long a write may wait for its transaction to begin.
  package var writeWait = Instant.Span.seconds(10)
  /// How long a read may wait for a connection, and how long it may then run.
  package var readWait = Instant.Span.seconds(5)
  package var readTime = Instant.Span.seconds(10)

  package var queuedWriteCountMax = 4096
  package var queuedWriteCountPerAccountMax = 256
  package var batchCountMax = 512
  package var batchTime = Instant.Span.milliseconds(50)

  package var readConnectionCountMax = 16
  package var readThreadCount = 8
  package var queuedReadCountMax = 1024
  /// PostgreSQL: connections that write at the same time.
  package var writeConnectionCount = 8
  /// PostgreSQL: the most attempts at a transaction that loses conflicts.
  package var conflictAttemptCountMax = 8

  /// SQLite: the log's frames (pages) that wake the checkpoint thread, and those after which it is started over.
  package var logFrameCountWanted = 1000
  package var logFrameCountMax = 16_000

  package var syncMigrations = Migrations.sync
  package var billingMigrations = Migrations.billing

  package init() {}

  package func migrations(of schema: Schema) -> [Migration] {
    switch schema {
    case .sync: syncMigrations
    case .billing: billingMigrations
    }
  }
}
