internal import Base
internal import HTTPMessages

/// How many forged deliveries one address may send before it has to wait.
///
/// A forged signature costs public-key arithmetic, and the certificates that make it plausible are
/// public. Addresses are those that trusted proxies tell; this machine's own are never made to
/// wait, because behind a proxy that is not configured every delivery comes from there.
final class ForgeryBudget: Sendable {
  /// At once, and then so many a second.
  private static let burst = 100.0
  private static let perSecond = 10.0
  /// More addresses than this are not told apart: those that have waited longest are forgotten.
  private static let addressCountMax = 4096

  private struct Account {
    var spent: Double
    var at: MonotonicTime
  }

  private let accounts = Locked<[String: Account]>([:])

  /// Throws 429 for an address that has spent its budget.
  func check(_ address: String) throws {
    let spent = accounts.withLock { accounts -> Double in
      guard !accounts.isEmpty, let account = accounts[Self.group(address)] else { return 0 }
      return Self.spent(account, at: .now())
    }
    guard spent > Self.burst else { return }
    throw Problem(
      429, "too_many_forgeries", "Too many refused deliveries",
      "So many deliveries of this address proved no sender that the next must wait.",
      retryAfterSeconds: 10)
  }

  func spend(_ address: String) {
    guard !Self.isLocal(address) else { return }
    let now = MonotonicTime.now()
    accounts.withLock { accounts in
      let group = Self.group(address)
      let before = accounts[group].map { Self.spent($0, at: now) } ?? 0
      accounts[group] = Account(spent: min(before, Self.burst) + 1, at: now)
      if accounts.count > Self.addressCountMax { Self.prune(&accounts, at: now) }
    }
  }

  private static func spent(_ account: Account, at now: MonotonicTime) -> Double {
    max(0, account.spent - now.seconds(since: account.at) * perSecond)
  }

  private static func prune(_ accounts: inout [String: Account], at now: MonotonicTime) {
    accounts = accounts.filter { spent($0.value, at: now) > 1 }
    guard accounts.count > addressCountMax else { return }
    for (group, _) in accounts.sorted(by: { $0.value.at < $1.value.at }).prefix(addressCountMax / 2)
    {
      accounts[group] = nil
    }
  }

  private static func isLocal(_ address: String) -> Bool {
    address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
  }

  /// An IPv6 network of 64 bits is one customer's (RFC 6177), so it counts as one.
  private static func group(_ address: String) -> String {
    guard address.contains(":"), !address.contains(".") else { return address }
    let head = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)[0]
    return head.split(separator: ":").prefix(4).joined(separator: ":")
  }
}
