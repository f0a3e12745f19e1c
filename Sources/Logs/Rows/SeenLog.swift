import Accounts
import Base
import JSON
import Storage

/// A log as an account sees it: its own, or another's by a share that it accepted.
struct SeenLog: Sendable {
  let log: MessageLog
  /// Nil for the owner.
  let share: LogShare?

  /// A log that an account may read. Others' logs are not told from those that do not exist.
  static func find(
    _ queryable: some Queryable, _ id: Identifier, by account: Identifier
  ) throws -> SeenLog {
    do {
      return SeenLog(log: try MessageLog.find(queryable, id, for: account), share: nil)
    } catch LogRefusal.logNotFound {
      guard let share = try LogShare.find(queryable, id, account), share.state == .accepted else {
        throw LogRefusal.logNotFound
      }
      return SeenLog(log: try MessageLog.find(queryable, id, for: share.owner), share: share)
    }
  }

  /// A log that an account owns. What others may only read, they may not change.
  static func own(
    _ queryable: some Queryable, _ id: Identifier, by account: Identifier
  ) throws -> MessageLog {
    let seen = try find(queryable, id, by: account)
    guard seen.share == nil else { throw LogRefusal.notPermitted }
    return seen.log
  }

  /// The account's logs, those that others share with it, and who of these others is leaving.
  static func all(_ queryable: some Queryable, of account: Identifier) throws -> JSONValue {
    var logs = try MessageLog.all(queryable, of: account).map {
      SeenLog(log: $0, share: nil)
    }
    var invitations: [JSONValue] = []
    for share in try LogShare.all(queryable, with: account) {
      let log: MessageLog
      // A share whose log's row is lost hides no other log. The doctor removes it.
      do {
        log = try MessageLog.find(queryable, share.log, for: share.owner)
      } catch LogRefusal.logNotFound {
        continue
      }
      switch share.state {
      case .pending: invitations.append(share.invitation(log.name))
      case .accepted: logs.append(SeenLog(log: log, share: share))
      }
    }
    let leaving = try LogShare.leavingOwners(queryable, with: account)
    return [
      "logs": .array(try logs.map { .object(try $0.log.members(queryable, by: $0.share)) }),
      "invitations": .array(invitations), "leaving": .array(leaving.map(\.json)),
    ]
  }
}
