import CommandLine
import Configuration
import JSON

extension Command {
  private static let shell = Parameter<Shell>.required(
    "shell", text: "bash, zsh or fish", .shell)

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

extension Form where Value == Shell {
  fileprivate static var shell: Form {
    Form(completion: .words(Shell.allCases.map(\.rawValue))) {
      (text, name) throws(CommandFailure) in
      if let shell = Shell(rawValue: text) { return shell }
      throw CommandFailure(.usage, "\(name) takes bash, zsh or fish")
    }
  }
}
