import Acts
import Base
import CommandLine
import Configuration
import JSON
import Objects
import S3
import Sync

extension Command {
  private static let dryRun = Parameter<Bool>.flag(
    "--dry-run", text: "count what is left to copy, and change nothing")
  private static let delete = Parameter<Bool>.flag(
    "--delete", text: "also delete old copies, each after the new store has it whole")
  private static let rate = Parameter<Int64?>.optional(
    "--rate", "megabytes", text: "copy at most so many megabytes a second",
    .number(in: 1...100_000))

  static let objectsMigrate = Command(
    words: ["objects", "migrate"],
    abstract: "Move large contents to another object store",
    discussion: """
      Copies every object that a document, a version or an upload needs from COFFER_OBJECTS_ALSO to \
      COFFER_OBJECTS, while the servers run with the same two settings. Each copy is verified. What no row \
      needs stays for the collector. docs/operating.md has the steps before and after.

      Run it as often as you like, also after an interruption: it copies what is missing. An object that \
      cannot be copied is named, the others are copied, and the exit code is 1. It is 75 while something \
      is left, such as uploads that began in the old store. Once nothing is left, the command says that \
      COFFER_OBJECTS_ALSO can be taken out. Nothing is deleted without --delete, nor while a backup runs.
      """,
    examples: [
      "coffer objects migrate --dry-run", "coffer objects migrate --rate 50",
      "coffer objects migrate --delete",
    ],
    options: [dryRun, delete, rate] + Act.handyOptions,
    answers: outcome.item.adding([.init("audit", .text, isOptional: true)]),
    run: { invocation in
      guard !invocation[dryRun] || !invocation[delete] else {
        throw CommandFailure(.usage, "give one of --dry-run and --delete")
      }
      return try DatabaseSession.withAnyCatalogue(invocation) { database, configuration in
        guard let place = configuration.objects, place.also != nil,
          let pair = try ObjectStores.open(place) as? PairStore
        else {
          throw CommandFailure(
            .configuration,
            "\(SyncSettings.objects.name) names the new store and \(SyncSettings.objectsAlso.name) the old one: "
              + "set both")
        }
        guard try pair.main.owner() != nil else {
          throw CommandFailure(
            .refused,
            "start coffer-sync with both settings first, so that new contents go to the new store")
        }
        let progress = Progress("copying objects", .bytes)
        let found = try ObjectMigration(
          database, pair, copies: !invocation[dryRun], deletes: invocation[delete],
          bytesPerSecond: invocation[rate].map { $0 * 1_000_000 }
        ).run { byteCount, byte in
          progress.place = "part \(Int(byte) + 1) of 256"
          progress.done = byteCount
        }
        let answer = answer(found, isDry: invocation[dryRun])
        guard found.copiedCount + found.deletedCount > 0 else { return answer }
        // The counts alone: there may be millions of objects.
        let noted = try Act(invocation, on: database).atOnce(at: configuration.clock.now()) { _ in
          Act.Effect(
            subject: "the object store", before: .object([]),
            after: [
              "copied": .integer(found.copiedCount), "deleted": .integer(found.deletedCount),
            ])
        }
        guard case .object(let members) = noted.json else { return answer }
        return answer.adding(members)
      }
    })

  private static var outcome: Listing<ObjectMigration.Found> {
    Listing([
      .bool("complete") { $0.isComplete }, .integer("copied") { $0.copiedCount },
      .integer("copied_bytes") { $0.copiedByteCount }, .integer("left") { $0.leftCount },
      .integer("left_bytes") { $0.leftByteCount }, .integer("unneeded") { $0.unneededCount },
      .integer("deleted") { $0.deletedCount }, .integer("held") { $0.heldCount },
      .integer("uploads") { $0.uploadCount }, .integer("failed") { $0.failureCount },
      .list("failures", failures) { $0.failures },
    ])
  }

  private static var failures: Listing<ObjectMigration.Failure> {
    Listing([
      .text("object", "OBJECT") { $0.object.description }, .text("reason", "REASON") { $0.reason },
    ])
  }

  private static func answer(_ found: ObjectMigration.Found, isDry: Bool) -> Answer {
    let failed =
      found.failures.isEmpty ? "" : failures.text(found.failures, at: .distantPast) + "\n"
    return Answer(
      code: found.failureCount > 0 ? .refused : found.isComplete ? .ok : .unfinished,
      text: """
        \(failed)copied    \(counted(found.copiedCount, "object")), \(ByteCount.text(found.copiedByteCount))
        left      \(counted(found.leftCount, "object")), \(ByteCount.text(found.leftByteCount))
        unneeded  \(counted(found.unneededCount, "object"))
        uploads   \(found.uploadCount) under way in the old store
        deleted   \(found.deletedCount.grouped) old copies

        """, json: outcome.json(found), notice: notice(found, isDry: isDry))
  }

  private static func notice(_ found: ObjectMigration.Found, isDry: Bool) -> String {
    let held =
      found.heldCount > 0
      ? "\(found.heldCount.grouped) old copies stay, because a backup runs; " : ""
    if found.failureCount > 0 {
      return held + "not copied: \(counted(found.failureCount, "object")), the first is "
        + "\(found.failures.first?.object.description ?? ""); run it again once that is repaired"
    }
    if found.leftCount > 0 { return "run it without --dry-run to copy what is left" }
    if found.uploadCount > 0 {
      return held + "uploads that began in the old store end within a day; run it again then"
    }
    if isDry { return "nothing is left to copy: run it without --dry-run to end the move" }
    return held + "nothing is left: take COFFER_OBJECTS_ALSO out and restart coffer-sync"
  }
}
