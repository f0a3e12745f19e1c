import Goldens
import Testing

/// What an operator sees on a terminal.
struct ScreenTests {
  @Test(arguments: [80, 120])
  func `no line is wider than its terminal`(width: Int) throws {
    let shop = try FirstPurchase()
    for (name, line) in [
      ("find", "find \(FirstPurchase.address)"), ("account-list", "account list"),
      ("explain", "entitlement explain ada"), ("subscription-show", "subscription show ada"),
    ] {
      let screen = try Finished.screen(line, width, shop.environment)
      for line in screen.split(separator: "\n") { #expect(line.count <= width, "\(line)") }
      try expectGolden(screen, "\(name)-\(width)")
    }
  }
}
