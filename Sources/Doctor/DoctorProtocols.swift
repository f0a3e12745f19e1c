import Accounts
import Base
import CommandLine
import KnownProtocols

/// Checks of the rows that each protocol keeps.
extension Doctor {
  func protocolRows() -> [Check] {
    KnownProtocols.all.map { room in check(room.name) { try rows(of: room) } }
  }

  private func rows(of room: any ProtocolRoom.Type) throws -> Check {
    guard extent.isDeep else {
      return Check(room.name, .skipped, "--deep checks the rows of a sample of accounts")
    }
    var (checked, wrong, first) = (0, 0, String?.none)
    try accounts("checking \(room.name)") { account in
      checked += 1
      guard let fault = try room.faults(of: account, in: database).first else { return }
      wrong += 1
      first = first ?? "of account \(account): \(fault)"
    }
    guard checked > 0 else { return Check(room.name, .skipped, "there is no account") }
    let what = "\(counted(checked, "account"))\(sampleText)"
    guard let first else { return Check(room.name, .ok, "the rows of \(what) keep every rule") }
    return Check(
      room.name, .failed, "\(Int64(wrong).grouped) of \(what) break a rule; the first, \(first)",
      room.remedy)
  }
}
