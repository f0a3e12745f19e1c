package import Accounts
import Base

enum MailboxMetrics {
  static let stored = Metrics.shared.counter(
    "coffer_mailbox_messages_total", "Messages that were put into mailboxes, once for each device.")
  static let full = Metrics.shared.counter(
    "coffer_mailbox_full_total", "Messages that a device's mailbox had no room for.")
  static let expired = Metrics.shared.counter(
    "coffer_mailbox_expired_total",
    "Messages that expired in a mailbox before the device acknowledged them.")
  static let failed = Metrics.shared.counter(
    "coffer_mailbox_failures_total", "Messages that a device acknowledged with an error.")
  static let claimed = Metrics.shared.counter(
    "coffer_key_packages_claimed_total", "Key packages that were given, last resorts included.")

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (stored, full, expired, failed, claimed) }
}

extension Delivered {
  /// Counts it. Call it once the write is durable, because a transaction may run more than once.
  package func count(_ transfers: TransferCounter) {
    guard !isRepeated else { return }
    transfers.received(storedByteCount, of: sender)
    MailboxMetrics.stored.add(Int64(receiverCount))
    MailboxMetrics.full.add(Int64(refused.count { $0.reason == .full }))
  }
}
