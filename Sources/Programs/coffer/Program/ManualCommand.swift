import CommandLine
import Configuration
import JSON

extension Command {
  private static let program = Parameter<Program?>.optional(
    "program", text: "one of \(names) (default: coffer)",
    Form(completion: .words(Program.allCases.map(\.rawValue))) {
      Program(rawValue: $0)
    } refusal: { text, _ in
      "there is no program \(text)"
    })
  private static let names = Program.allCases.map(\.rawValue).joined(separator: ", ")

  static let manual = Command(
    words: ["man"],
    abstract: "Print the manual page of a program",
    discussion: "Install the pages of coffer-sync and coffer-billing in man8.",
    examples: [
      "coffer man | man -l -",
      "coffer man > /usr/local/share/man/man1/coffer.1",
    ],
    arguments: [program],
    answers: ["program": .text, "page": .text],
    run: { invocation in
      let program = invocation[program] ?? .command
      let page = ManualPage.of(program, .coffer)
      return Answer(
        text: page, json: ["program": .string(program.rawValue), "page": .string(page)])
    })
}
