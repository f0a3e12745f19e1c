import CommandLine
import JSON

extension Command {
  private static let shell = Parameter<Shell>.required(
    "shell", text: "bash, zsh or fish",
    Form(completion: .words(Shell.allCases.map(\.rawValue))) {
      Shell(rawValue: $0)
    } refusal: {
      "\($1) takes bash, zsh or fish"
    })

  static let completion = Command(
    words: ["completion"],
    abstract: "Print a shell completion script",
    discussion: """
      For zsh, save it as _coffer in a directory of fpath. For fish, save it as \
      ~/.config/fish/completions/coffer.fish. The script asks coffer itself for what to offer.
      """,
    examples: ["coffer completion bash > /etc/bash_completion.d/coffer"],
    arguments: [shell],
    answers: ["shell": .text, "script": .text],
    run: { invocation in
      let shell = invocation[shell]
      return Answer(
        text: shell.script,
        json: ["shell": .string(shell.rawValue), "script": .string(shell.script)])
    })
}
