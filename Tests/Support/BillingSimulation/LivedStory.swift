import ProviderFakes

/// A story that an installation can run through, created anew each time.
package struct LivedStory: Sendable {
  package let name: String
  /// Whether it also runs in the short run.
  package let isShort: Bool
  /// Whether it can run in the store's own time: its API shows the state of any past time.
  package let showsItsPast: Bool
  package let live: @Sendable () -> Live

  package static let all = stripe + apple + google + btcpay

  package static let apple: [LivedStory] = AppleStory.all.map { story in
    LivedStory(name: "apple/\(story.name)", isShort: true, showsItsPast: false) {
      Live(story)
    }
  }

  package static let google: [LivedStory] = GoogleStory.all.map { story in
    LivedStory(name: "google/\(story.name)", isShort: true, showsItsPast: true) {
      Live(story)
    }
  }

  package static let btcpay: [LivedStory] = BTCPayStory.all.map { story in
    LivedStory(name: "btcpay/\(story.name)", isShort: true, showsItsPast: true) {
      Live(story)
    }
  }

  package static let stripe: [LivedStory] = [StripeVersion.acacia, .dahlia].flatMap { version in
    StripeStory.all.map { story in
      LivedStory(
        name: "stripe/\(version.rawValue)/\(story.name)", isShort: version == .dahlia,
        showsItsPast: false
      ) { Live(story, version) }
    }
  }
}
