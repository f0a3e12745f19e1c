import HTTPMessages
import HTTPServer

/// The deliveries and claims that one address may send without proving a sender. A forged signature
/// costs public-key arithmetic, and the certificates that make it plausible are public.
extension AddressBudget {
  /// Throws 429 for an address that has spent its budget.
  func refuseForger(_ address: String) throws {
    guard let seconds = secondsToWait(address) else { return }
    throw Problem(
      429, "too_many_forgeries", "Too many refused deliveries",
      "Too many deliveries from this address had no valid signature; try again later.",
      retryAfterSeconds: seconds)
  }
}
