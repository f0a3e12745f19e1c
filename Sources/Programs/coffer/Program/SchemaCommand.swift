import CommandLine
import JSON

extension Command {
  static let schema = Command(
    words: ["schema"],
    abstract: "Print the JSON Schema of every command's --json output",
    discussion: """
      Each command has a definition named by its words (https://json-schema.org, 2020-12). Within a \
      version members are only added, so ignore members that you do not know. Errors are a line on stderr \
      and an exit code, never JSON.
      """,
    examples: ["coffer schema > coffer.schema.json"],
    answers: .anything,
    run: { _ in
      let document = CommandTable.coffer.schema
      let text = String(decoding: document.encoded(), as: UTF8.self)
      return Answer(text: text + "\n", json: document)
    })
}
