import Acts
import Base
import CommandLine
import Configuration
import JSON
import Repair
import Storage

extension Command {
  static let deliveryReseal = Command(
    words: ["delivery", "reseal"],
    abstract: "Re-encrypt stored deliveries with the first sealing key",
    discussion: """
      In COFFER_SEALING_KEYS, put the new key first and the old keys after it, for every coffer-billing as \
      well. The command refuses to run if a recent delivery shows that an instance still seals with \
      another key. It runs beside the servers and resumes where an earlier run stopped. If it reports that \
      no key opens something, keep the old keys and look for the missing one.
      """,
    examples: ["coffer delivery reseal"],
    options: Act.handyOptions,
    answers: Act.handyAnswers(["resealed": .integer, "unopened": .integer]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let sealing = try configuration.neededSealingKeys()
        let act = try Act(invocation, on: database)
        let now = configuration.clock.now()
        if let obstacle = try database.read({
          try Resealing.obstacle(to: sealing, at: now, reading: $0)
        }) {
          throw CommandFailure(.refused, obstacle.text)
        }
        let total = try database.read { try Resealing.total(reading: $0) }
        let progress = Progress("sealing", .count(of: "deliveries"), of: total)
        var resealing = Resealing(database, sealing)
        try resealing.run { progress.done = $0 }
        let (count, unopened) = (resealing.count, resealing.unopenedCount)
        var answer = try act.atOnce(at: configuration.clock.now()) { _ in
          Act.Effect(
            subject: ResealLog.subject, before: [ResealLog.byOlderKeys: .integer(count)],
            after: [ResealLog.byOlderKeys: 0],
            text: unopened > 0
              ? "\(count) were resealed\n"
              : "\(count) were resealed; no older key is needed any more, once every "
                + "coffer-billing was restarted with the first\n",
            members: [.init("resealed", .integer(count)), .init("unopened", .integer(unopened))])
        }
        if unopened > 0 {
          answer.code = .refused
          answer.notice = "\(unopened) are sealed with other keys and stay as they are"
        }
        return answer
      }
    })
}

extension Resealing.Obstacle {
  /// What to do first.
  fileprivate var text: String {
    switch self {
    case .newestDelivery(let received):
      "the newest delivery, of \(received), is not sealed by the first key: restart every coffer-billing with "
        + "it in front, and let one seal something (coffer subscription read <subscription>)"
    case .recentDelivery(let received):
      "a delivery of \(received) is not sealed by the first key, though a newer one is: restart every "
        + "coffer-billing with it in front, and look again "
        + "\(Resealing.restartSpan.milliseconds / 60_000) minutes after the last"
    }
  }
}
