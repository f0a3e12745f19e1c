import Accounts
import Acts
import CommandLine
import Configuration
import KnownProtocols
import Sync

/// Checks of the rows that each protocol keeps.
extension Doctor {
  func protocolRows() -> [Check] {
    KnownProtocols.all.map { room in check(room.name) { try rows(of: room) } }
  }

  private func rows(of room: any ProtocolRoom.Type) throws -> Check {
    guard extent.isDeep else {
      return Check(room.name, .skipped, "--deep checks the rows of a sample of accounts")
    }
    let recount = Recount(
      database, catalogue: configuration.catalogue, protocols: KnownProtocols.all)
    var (checked, wrong, repaired, first) = (0, 0, 0, String?.none)
    try accounts("checking \(room.name)") { account in
      checked += 1
      guard var fault = try room.faults(of: account, in: database).first else { return }
      if let act = extent.fixing {
        _ = try recount.correct(account, noting: act, at: now)
        guard let left = try room.faults(of: account, in: database).first else {
          repaired += 1
          return
        }
        fault = left
      }
      wrong += 1
      first = first ?? "of account \(account): \(fault)"
    }
    guard checked > 0 else { return Check(room.name, .skipped, "there is no account") }
    let what = "\(counted(checked, "account"))\(sampleText)"
    guard let first else {
      return repaired == 0
        ? Check(room.name, .ok, "the rows of \(what) keep every rule")
        : Check(room.name, .ok, "\(Int64(repaired).grouped) of \(what) put right", isRepair: true)
    }
    return Check(
      room.name, .failed, "\(Int64(wrong).grouped) of \(what) break a rule; the first, \(first)",
      "\(room.remedy); coffer account validate --all lists every fault")
  }
}
