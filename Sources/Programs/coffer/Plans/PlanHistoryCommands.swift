import Acts
import Base
import CommandLine
import Configuration
import JSON
import Storage
import Tiers

extension Command {
  private static let historyLimit = Parameter<Int>.limit()
  private static let number = Parameter<Int64>.required(
    "number", text: "number, as in coffer plan history", .number(in: 1...Int64.max))
  private static let historyAfter = Parameter<Int64?>.below()

  static let planHistory = Command(
    words: ["plan", "history"],
    abstract: "List the catalogues that were applied, newest first",
    discussion: "coffer plan show <number> prints one as a file for coffer plan apply.",
    examples: ["coffer plan history"],
    options: [historyLimit, historyAfter],
    answers: catalogues.shape,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let page = try catalogues.page(invocation, by: { "\($0.number)" }) {
          try CatalogueOfRecord.all(
            below: invocation[historyAfter] ?? .max, limit: $0, reading: reader)
        }
        return catalogues.answer(page, at: now, notice: page.notice)
      }
    })

  private static var catalogues: Listing<CatalogueOfRecord> {
    Listing(
      "catalogues",
      [
        .integer("number", "NUMBER") { $0.number }, .time("since", "SINCE") { $0.since },
        .text("version", "VERSION") { $0.version },
        Column(
          "plans", .list(["id": .text, "bytes": .integer]), "PLANS",
          json: { record in
            .array(
              plans(record.catalogue).map { plan in
                ["id": .string(plan.id), "bytes": .integer(plan.byteCount)]
              })
          },
          cell: { record, _ in
            plans(record.catalogue).map { "\($0.id) \(ByteCount.text($0.byteCount))" }
              .joined(separator: ", ")
          }), .text("digest", "DIGEST") { $0.digest },
      ])
  }

  private static func plans(_ catalogue: Catalogue) -> [Plan] { [catalogue.free] + catalogue.paid }

  static let planShow = Command(
    words: ["plan", "show"],
    abstract: "Print an applied catalogue as its file",
    discussion: "To go back to it, save it and run coffer plan diff and coffer plan apply.",
    examples: ["coffer plan show 1 > plans.json"],
    arguments: [number],
    answers: [
      "number": .integer, "since": .time, "version": .text, "digest": .text, "catalogue": .anything,
    ],
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation) { database, _ in
        let number = invocation[number]
        guard let record = try database.read({ try CatalogueOfRecord.find(number, reading: $0) })
        else {
          throw CommandFailure(
            .refused, "there is no catalogue \(number); coffer plan history lists them")
        }
        guard let file = record.catalogue.file else {
          throw CommandFailure(.refused, whyNoFile(record))
        }
        return Answer(
          text: file.hasSuffix("\n") ? file : file + "\n",
          json: [
            "number": .integer(record.number), "since": .string(record.since.description),
            "version": .string(record.version), "digest": .string(record.digest),
            "catalogue": JSONValue(try JSON.parse(Array(file.utf8))) ?? .null,
          ])
      }
    })

  private static func whyNoFile(_ record: CatalogueOfRecord) -> String {
    let name = "catalogue \(record.number), \(record.version),"
    return record.digest == Catalogue.standard.digest
      ? "\(name) is built in and has no file"
      : "\(name) was kept by an earlier version, without what each of its products costs: "
        + "coffer-billing keeps the file once it starts with it"
  }
}
