/// Twelve digits that identify a subscription and what belongs to it. They differ for every index and have no
/// order, as for subscriptions of any age.
enum Serial {
  static func digits(_ index: Int, seed: UInt64 = 1) -> String {
    // The step has no factor in common with 10^12, so no number comes twice. It is the golden section of
    // 10^12, so numbers near in time are far apart.
    padded((UInt64(index) &* 618_033_988_749 &+ seed % 1_000_000_007) % 1_000_000_000_000)
  }

  static func padded(_ number: UInt64) -> String {
    String(String(1_000_000_000_000 + number).dropFirst())
  }
}
