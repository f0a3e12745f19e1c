internal import Configuration
internal import JSON

/// One thing `coffer` can do: what it takes, what it says of itself, and how it is done.
///
/// Parsing and help are made from this value alone, so neither can disagree with the other.
struct Command: Sendable {
  /// The words that call it: `["account", "create"]`.
  let words: [String]
  /// What it does, in one sentence.
  let abstract: String
  /// What one has to know beyond the abstract; may be empty.
  var discussion = ""
  var arguments: [Argument] = []
  var options: [Option] = []
  let run: @Sendable (Invocation) throws -> Answer

  /// Something that is given by its place.
  struct Argument: Sendable {
    let name: String
    let text: String
    /// May be left out; only ever the last of a command's arguments.
    var isOptional = false

    var usage: String { isOptional ? "[<\(name)>]" : "<\(name)>" }
  }

  /// Something that may be given, by name: `--username <name>`, or `--verbose` without a value.
  struct Option: Sendable {
    /// With its dashes.
    let name: String
    /// What its value is called; nil for a flag.
    let value: String?
    let text: String
    var isRepeatable = false

    var usage: String { value.map { "\(name) <\($0)>" } ?? name }
  }

  var name: String { words.joined(separator: " ") }

  /// Its own options and those of every command.
  var allOptions: [Option] { options + Self.common }

  static let common = [
    Option(
      name: "--config", value: "path",
      text: "a file of settings, KEY=value lines; the environment wins over it"),
    Option(name: "--json", value: nil, text: "print one JSON value instead of text for people"),
    Option(name: "--help", value: nil, text: "print this text"),
  ]
}

/// What a command has to say, for people and for programs; the caller chose which.
struct Answer: Sendable {
  var code = ExitCode.ok
  let text: String
  let json: JSONValue
  /// A line for people beside either form, on stderr; nil for none.
  var notice: String?
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
