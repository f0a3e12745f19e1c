internal import Configuration
internal import JSON

/// One thing `coffer` can do: what it takes, what it says of itself, and how it is done.
///
/// Parsing, help and completion are made from this value alone, so none can disagree with another.
struct Command: Sendable {
  /// The words that call it: `["account", "create"]`.
  let words: [String]
  /// What it does: imperative, at most 60 characters, without a full stop.
  let abstract: String
  /// What one has to know beyond the abstract; may be empty.
  var discussion = ""
  /// Lines that an operator can type.
  let examples: [String]
  /// What is given by its place; only the last may be left out.
  var arguments: [any AnyParameter] = []
  /// What is given by its name.
  var options: [any AnyParameter] = []
  /// What its JSON looks like.
  let answers: JSONShape
  let run: @Sendable (Invocation) throws -> Answer

  var name: String { words.joined(separator: " ") }

  /// The parts of its line, each to stay on one; what may be left out is in brackets.
  var usage: [String] {
    ["coffer"] + words
      + (arguments + options).map { $0.isRequired ? $0.usage : "[\($0.usage)]" }
  }

  /// Its own options and those of every command.
  var allOptions: [any AnyParameter] { options + CommonOptions.all }
}

/// What several commands take by its place.
enum CommonArguments {
  /// As an operator names it; `DatabaseSession.account` finds it.
  static let account = Parameter<String>.required(
    "account", text: "account id or username", .text)
}

/// The options of every command.
enum CommonOptions {
  static let all: [any AnyParameter] = [config, json, help]
  /// What may stand before a command, or without one.
  static let leading: [any AnyParameter] = all + [version]
  static let short: [String: any AnyParameter] = ["-h": help, "-V": version]

  static let config = Parameter<String?>.optional(
    "--config", "path", text: "file of settings, KEY=value lines; the environment takes precedence",
    .path)
  static let json = Parameter<Bool>.flag(
    "--json", text: "print JSON")
  static let help = Parameter<Bool>.flag("--help", text: "print this help")
  static let version = Parameter<Bool>.flag("--version", text: "print the version")
}

/// What a command has to say, for people and for programs; the caller chose which.
struct Answer: Sendable {
  var code = ExitCode.ok
  let text: String
  let json: JSONValue
  /// A line for people beside either form, on stderr; nil for none.
  var notice: String?
  /// What is left to do once it is written whole; nil for nothing.
  var whenWritten: (@Sendable () -> Void)?
}

/// Why a command did not do what it was asked for; `text` is one line.
struct CommandFailure: Error, Equatable {
  let code: ExitCode
  let text: String

  init(_ code: ExitCode, _ text: String) {
    self.code = code
    self.text = text
  }
}
