import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage
import Tiers

/// `GET /v1/account`: the caller's account, usage, quota and keys, and the transfers of this month
/// and the last, as of some seconds ago.
struct GetAccount: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/account"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    guard let account = try Account.find(reader, caller.account) else {
      throw RequestRefusal.unknownKey
    }
    let cap = try Cap(reader, account.id, catalogue: host.catalogue, now: now)
    let graceEnd =
      cap.reason == .grace ? try Cap.end(reader, account.id, after: now) : nil
    return account.json(
      cap, graceEnd: graceEnd, devices: try Device.list(reader, of: account.id),
      transfers: try Transfers.recent(reader, account.id, now: now))
  }
}
