import Apple
import Base
import JSON
import SeededRandom
import Subscriptions
import Testing

struct StoredObjectTests {
  private static func any<T>(_ random: inout SeededGenerator, _ make: (inout SeededGenerator) -> T)
    -> T?
  { Bool.random(using: &random) ? make(&random) : nil }

  private static func instant(_ random: inout SeededGenerator) -> Instant {
    Instant(milliseconds: Int64.random(in: 0...253_402_300_799_999, using: &random))
  }

  private static func identifier(_ random: inout SeededGenerator) -> Identifier {
    Identifier(high: random.next(), low: random.next())
  }

  private static func object(_ random: inout SeededGenerator) -> AppleObject {
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      .transaction(
        AppleTransaction(
          originalTransactionID: "1\(random.next())", productID: "p\(random.next() % 5)",
          purchaseDate: instant(&random), expiresDate: instant(&random),
          revocation: any(&random) { random in
            .init(
              date: instant(&random),
              kind: AppleTransaction.Revocation.Kind.allCases.randomElement(using: &random)
                ?? .full,
              percentageMilliunits: any(&random) { Int64($0.next() % 100_001) })
          },
          isUpgraded: .random(using: &random),
          ownership: [.purchased, .familyShared, .assigned, .other("NEW")]
            .randomElement(using: &random) ?? .purchased,
          isFreeTrial: .random(using: &random), account: any(&random, identifier),
          previousOriginalTransactionID: any(&random) { "2\($0.next())" },
          commitment: any(&random) { .init(end: any(&$0, instant)) },
          price: any(&random) {
            .init(milliunits: Int64($0.next() % 1_000_000), currency: "EUR")
          }))
    case 1:
      .renewal(
        AppleRenewal(
          productID: "p", nextProductID: any(&random) { "q\($0.next())" },
          willRenew: .random(using: &random),
          expirationIntent: any(&random) { Int64($0.next() % 9) },
          isInBillingRetry: .random(using: &random),
          gracePeriodExpiresDate: any(&random, instant), account: any(&random, identifier),
          commitmentWillRenew: any(&random) { .random(using: &$0) }))
    default: .status(AppleStatus(.init(Int64(random.next() % 8))))
    }
  }

  private static func kind(of object: AppleObject) -> ObjectKey.Kind {
    switch object {
    case .transaction: .transaction
    case .renewal: .renewal
    case .status: .status
    }
  }

  @Test func `every object comes back from its stored form`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "StoredObjectTests"))
    for _ in 0..<500 {
      let object = Self.object(&random)
      let bytes = object.stored().encoded()
      #expect(try AppleObject(stored: JSON.parse(bytes), kind: Self.kind(of: object)) == object)
    }
  }

  @Test func `another provider's kind is refused`() throws {
    let json = try JSON.parse(Array("{}".utf8))
    #expect(throws: JSONError.self) { try AppleObject(stored: json, kind: .grant) }
  }
}
