import BillingSimulation
import ProviderFakes
import SeededRandom
import Testing

/// One seed for a whole run, printed once; `COFFER_TEST_SEED` repeats a run.
enum Seed {
  static let run = SeededGenerator.seed(of: "simulation")

  static func of(_ name: String) -> UInt64 {
    name.utf8.reduce(run) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }
}

/// Every story of every store.
enum Stories {
  struct Named: Sendable, CustomTestStringConvertible {
    let name: String
    let run: @Sendable () throws -> StoryRun
    var testDescription: String { name }
  }

  static let all = stripe + apple + google + btcpay

  /// The stories whose sales are judged only by periods of money.
  static let judged = stripe + apple + btcpay

  static let apple: [Named] = AppleStory.all.map { story in
    Named(name: "apple/\(story.name)") { try StoryRun(story) }
  }

  static let google: [Named] = GoogleStory.all.map { story in
    Named(name: "google/\(story.name)") { try StoryRun(story) }
  }

  static let btcpay: [Named] = BTCPayStory.all.map { story in
    Named(name: "btcpay/\(story.name)") { try StoryRun(story) }
  }

  /// Each story in every API version that the fake speaks.
  static let stripe: [Named] = StripeVersion.allCases.flatMap { version in
    StripeStory.all.map { story in
      Named(name: "stripe/\(version.rawValue)/\(story.name)") { try StoryRun(story, version) }
    }
  }
}

extension LivedStory: CustomTestStringConvertible {
  package var testDescription: String { name }
}
