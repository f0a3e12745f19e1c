import Goldens
import Testing

/// The output for an operator at a terminal.
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
