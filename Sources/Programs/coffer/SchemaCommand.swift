internal import Configuration
internal import JSON

extension Command {
  static let schema = Command(
    words: ["schema"],
    abstract: "Prints what the JSON of every command looks like, as JSON Schema.",
    discussion: """
      Each command has a definition under its own words (https://json-schema.org, 2020-12). Within a \
      version members are only added, so take no notice of those that you do not know. What a \
      command could not do is a line on stderr and an exit code, never JSON.
      """,
    answers: .anything,
    run: { _ in
      let document = document
      let text = String(decoding: document.encoded(), as: UTF8.self)
      return Answer(text: text + "\n", json: document)
    })

  private static var document: JSONValue {
    [
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$id": .string("urn:coffer:commands:\(JSONShape.version)"),
      "title": .string("coffer --json, version \(JSONShape.version)"),
      "$defs": .object(CommandTable.all.map { .init($0.name, $0.answers.schema) }),
    ]
  }
}
