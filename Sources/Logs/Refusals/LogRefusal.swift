import Base
import Endpoints
import HTTPMessages
import JSON

/// The refusals that only message logs have, each for one reason that a client can act on.
enum LogRefusal: AnswerableError, Equatable {
  case logNotFound
  case notPermitted
  case shareNotFound
  case shareWithOwner
  case tooManyShares(max: Int)
  case logExists
  case tooManyLogs(max: Int64)
  case epochChanged(current: Identifier)
  case timestampAhead(LogTimestamp, latest: Instant)
  case beforeHorizon(LogTimestamp, horizon: LogTimestamp)
  case logIsBudget
  case snapshotNotFound
  case snapshotMissing
  case snapshotOutdated(messageCountMax: Int64)
  case logFull(messageCountMax: Int64, byteCountMax: Int64)
  case cursorInvalid
  case historyChanged
  case sinceInvalid
  case pathInvalid

  var problem: Problem {
    switch self {
    case .logNotFound: Problem(404, "log_not_found", "Log not found", "There is no such log.")
    case .notPermitted:
      Problem(
        403, "not_permitted", "Not permitted", "The caller may see this log but not change it so.")
    case .shareNotFound:
      Problem(404, "share_not_found", "Share not found", "There is no such share of the log.")
    case .shareWithOwner:
      Problem(
        409, "share_with_owner", "Share with the owner", "The owner of a log needs no share of it.")
    case .tooManyShares(let max):
      Problem(
        409, "too_many_shares", "Too many shares",
        "A log has at most \(max) shares, pending ones included. End one.",
        members: [.init("max", .integer(Int64(max)))])
    case .logExists: Problem(409, "log_exists", "Log exists", "A log with this id exists.")
    case .tooManyLogs(let max):
      Problem(
        409, "too_many_logs", "Too many logs", "An account has at most \(max) logs. Delete one.")
    case .epochChanged(let current):
      Problem(
        409, "epoch_changed", "Epoch changed",
        "The log has begun another epoch. Nothing was stored: read the log from its beginning.",
        members: [.init("epoch", .string(current.description))])
    case .timestampAhead(let timestamp, let latest):
      Problem(
        422, "timestamp_ahead", "Timestamp in the future",
        "A timestamp is later than \(latest). Nothing was stored: set the device's clock.",
        members: [
          .init("t", .string(timestamp.description)), .init("latest", .string(latest.description)),
        ])
    case .beforeHorizon(let timestamp, let horizon):
      Problem(
        410, "before_horizon", "Before the horizon",
        "A snapshot stands for everything up to \(horizon). Nothing was stored: fetch the snapshot, "
          + "and give your messages new timestamps.",
        members: [
          .init("t", .string(timestamp.description)),
          .init("horizon", .string(horizon.description)),
        ])
    case .logIsBudget:
      Problem(
        409, "log_is_budget", "Log is a budget",
        "Clients of Actual upload the budget that this log holds, and reset it. Do that in one.")
    case .snapshotNotFound:
      Problem(
        404, "snapshot_not_found", "Snapshot not found", "No device has stored a snapshot yet.")
    case .snapshotMissing:
      Problem(
        409, "snapshot_missing", "Snapshot missing",
        "The log's snapshot covers other messages. Put one that covers these, and begin again.")
    case .snapshotOutdated(let max):
      Problem(
        409, "snapshot_outdated", "Snapshot outdated",
        "More came after the snapshot than an epoch may begin with. Make a newer snapshot.",
        members: [.init("messages", .integer(max))])
    case .logFull(let messageCountMax, let byteCountMax):
      Problem(
        409, "log_full", "Log full",
        "An epoch of a log holds at most \(messageCountMax) messages and \(byteCountMax) bytes.",
        members: [
          .init("messages", .integer(messageCountMax)), .init("bytes", .integer(byteCountMax)),
        ])
    case .cursorInvalid:
      Problem(
        400, "cursor_invalid", "Cursor invalid",
        "The cursor is not valid for this log. Start again without `cursor`.")
    case .historyChanged:
      Problem(
        410, "history_changed", "Start over",
        "The server's history has changed. Read the log from its beginning, without a cursor.")
    case .sinceInvalid:
      Problem(
        400, "since_invalid", "Timestamp invalid",
        "Give either `cursor` or `since`, which must be a timestamp in its one form.")
    case .pathInvalid:
      Problem(
        400, "path_invalid", "Path invalid", "path must be at most 21 of the digits 0, 1 and 2.")
    }
  }
}
