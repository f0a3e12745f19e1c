internal import Base
internal import Configuration
internal import JSON
internal import Ledger
internal import Storage

extension Command {
  static let deliveryReseal = Command(
    words: ["delivery", "reseal"],
    abstract: "Seals with the first key what older keys have sealed, so that they can go.",
    discussion: """
      COFFER_SEALING_KEYS has the new key first and the old ones behind it, for the servers as \
      well. It works beside them, and called again it goes on where it was broken off. Where it \
      says that no key opens something, keep the old keys and look for the one that is missing.
      """,
    options: Act.handyOptions,
    answers: Act.handyAnswers(["resealed": .integer, "unopened": .integer]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        guard let sealing = configuration.sealingKeys else {
          throw CommandFailure(.usage, "COFFER_SEALING_KEYS is not set")
        }
        let act = try Act(invocation, on: database)
        let total = try database.read { try Resealing.total(reading: $0) }
        let progress = Progress("sealing", .count(of: "deliveries"), of: total)
        var resealing = Resealing(database, sealing)
        try resealing.run { progress.done = $0 }
        let (count, unopened) = (resealing.count, resealing.unopenedCount)
        var answer = try act.atOnce(at: configuration.clock.now()) { _ in
          Act.Effect(
            subject: "kept deliveries and jobs", before: ["sealed_by_older_keys": .integer(count)],
            after: ["sealed_by_older_keys": 0],
            text: unopened > 0
              ? "\(count) were sealed anew\n"
              : "\(count) were sealed anew; no older key is needed any more\n",
            members: [.init("resealed", .integer(count)), .init("unopened", .integer(unopened))])
        }
        if unopened > 0 {
          answer.code = .refused
          answer.notice = "\(unopened) are sealed by keys that are not given, and stay as they are"
        }
        return answer
      }
    })
}
