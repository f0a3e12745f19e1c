import Base
import RecordedStories
import SeededRandom
import Stripe
import TestEngines
import Testing

/// Replays every story under webhooks/. A new story is tested without further code.
struct RecordedStoryTests {
  @Test(arguments: RecordedStory.all)
  func `a recorded delivery is a whole request to its store's address`(story: RecordedStory) {
    for request in story.steps.compactMap(\.delivery) {
      #expect([story.store, "stripe"].contains(request.store), "\(request.name)")
      #expect(request.requestLine == "POST /webhooks/\(request.store) HTTP/1.1")
      #expect(request.header("content-length") == String(request.body.count), "\(request.name)")
    }
  }

  @Test(arguments: RecordedStory.all(of: "stripe"))
  func `a delivery of Stripe's is signed at the moment of its step, in its version`(
    story: RecordedStory
  ) throws {
    let secrets = try #require(story.stripeSecret.flatMap { WebhookSecrets([$0]) })
    let version = story.name.split(separator: "/")[1]
    for step in story.steps {
      guard let request = step.delivery else { continue }
      let signature = try #require(request.header("stripe-signature"))
      let delivery = try secrets.verify(
        headers: [Array(signature.utf8)], body: request.body, now: step.at)
      #expect(signature.hasPrefix("t=\(step.at.seconds),"), "\(request.name)")
      // A thin event names no version.
      if (try? StripeThinEvent(delivery)) != nil { continue }
      #expect(try StripeEvent(delivery).apiVersion == String(version), "\(request.name)")
    }
  }

  /// On the slower engine every fifth story is enough to compare the engines; a full run plays all.
  private static let played = TestEngine.available.flatMap { engine in
    RecordedStory.all.enumerated().filter { index, _ in
      engine == .sqlite || TestRun.isFull || index % 5 == 0
    }.map { (story: $1, engine: engine) }
  }

  @Test(arguments: played)
  func `through the database, every delivery is answered and leaves what it must`(
    story: RecordedStory, engine: TestEngine
  ) throws {
    let installation = try RecordedInstallation(story, engine)
    for (index, step) in story.steps.enumerated() {
      let place = "step \(index + 1), \(step.delivery?.name ?? "clock")"
      try installation.play(step, place: place)
    }
    try installation.checkReports(at: #require(story.steps.last).at)
  }

  /// Google Play shows the state of a purchase, and not since when.
  @Test(arguments: RecordedStory.all(of: "google"))
  func `no change at Google Play came true before the one ahead of it was noticed`(
    story: RecordedStory
  ) throws {
    let installation = try RecordedInstallation(story, .sqlite)
    for step in story.steps { try installation.play(step, place: "") }
    for changes in try installation.changes(at: "google") {
      for (earlier, later) in zip(changes, changes.dropFirst())
      where earlier.noticed < later.noticed {
        #expect(
          earlier.noticed <= later.at,
          "\(later.text) at \(later.at), \(earlier.text) noticed \(earlier.noticed)")
      }
    }
  }

  @Test(arguments: RecordedStory.all(of: "stripe"))
  func `through the database, shuffled deliveries leave the same rows`(
    story: RecordedStory
  ) throws {
    let end = try #require(story.steps.last).at
    let seed = SeededGenerator.seed(of: "shuffled deliveries")
    var random = SeededGenerator(seed: seed)
    var expected: String?
    for number in 0..<(TestRun.isFull ? 3 : 2) {
      let installation = try RecordedInstallation(story, .sqlite)
      let requests = number == 0 ? story.taken : story.taken.shuffled(using: &random)
      for request in requests {
        #expect(try installation.post(request, signedAt: end).status == 200)
      }
      let rows = try installation.rows(at: end)
      #expect(rows == expected ?? rows, "\(requests.map(\.name)), seed \(seed)")
      expected = rows
    }
  }
}
