import Base

/// The instruments of mailboxes.
enum MailboxMetrics {
  static let stored = Metrics.shared.counter(
    "coffer_mailbox_messages_total", "Messages that were put into mailboxes, once for each device.")
  static let full = Metrics.shared.counter(
    "coffer_mailbox_full_total", "Messages that a device's mailbox had no room for.")
  static let failed = Metrics.shared.counter(
    "coffer_mailbox_failures_total", "Messages that a device acknowledged with an error.")
  static let claimed = Metrics.shared.counter(
    "coffer_key_packages_claimed_total", "Key packages that were given, last resorts included.")

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (stored, full, failed, claimed) }
}
