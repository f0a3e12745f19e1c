package import Configuration
package import JSON

/// One thing `coffer` can do: what it takes, what it says of itself, and how it is done.
///
/// Parsing, help and completion are made from this value alone, so none can disagree with another.
package struct Command: Sendable {
  /// The words that call it: `["account", "create"]`.
  package let words: [String]
  /// What it does: imperative, at most 60 characters, without a full stop.
  package let abstract: String
  /// What one has to know beyond the abstract; may be empty.
  package let discussion: String
  /// Lines that an operator can type.
  package let examples: [String]
  /// What is given by its place; only the last may be left out.
  package let arguments: [any AnyParameter]
  /// What is given by its name.
  package let options: [any AnyParameter]
  /// What its JSON looks like.
  package let answers: JSONShape
  package let run: @Sendable (Invocation) throws -> Answer

  package init(
    words: [String], abstract: String, discussion: String = "", examples: [String],
    arguments: [any AnyParameter] = [], options: [any AnyParameter] = [], answers: JSONShape,
    run: @escaping @Sendable (Invocation) throws -> Answer
  ) {
    self.words = words
    self.abstract = abstract
    self.discussion = discussion
    self.examples = examples
    self.arguments = arguments
    self.options = options
    self.answers = answers
    self.run = run
  }

  package var name: String { words.joined(separator: " ") }

  /// The parts of its line, each to stay on one; what may be left out is in brackets.
  package var usage: [String] {
    words
      + (arguments + options).map { $0.isRequired ? $0.usage : "[\($0.usage)]" }
  }

  /// Its own options and those of every command.
  var allOptions: [any AnyParameter] { options + CommonOptions.all }
}

/// What several commands take by its place.
package enum CommonArguments {
  /// As an operator names it; `DatabaseSession.account` finds it.
  package static let account = Parameter<String>.required(
    "account", text: "account id or username", .text)
}

/// The options of every command.
package enum CommonOptions {
  package static let all: [any AnyParameter] = [config, json, help]
  /// What may stand before a command, or without one.
  package static let leading: [any AnyParameter] = all + [version]
  package static let short: [String: any AnyParameter] = ["-h": help, "-V": version]

  package static let config = Parameter<String?>.optional(
    "--config", "path", text: "file of settings, KEY=value lines; the environment takes precedence",
    .path)
  package static let json = Parameter<Bool>.flag(
    "--json", text: "print JSON")
  package static let help = Parameter<Bool>.flag("--help", text: "print this help")
  package static let version = Parameter<Bool>.flag("--version", text: "print the version")
}

/// What a command has to say, for people and for programs; the caller chose which.
package struct Answer: Sendable {
  package var code: ExitCode
  package let text: String
  package let json: JSONValue
  /// A line for people beside either form, on stderr; nil for none.
  package var notice: String?
  /// What is left to do once it is written whole; nil for nothing.
  package var whenWritten: (@Sendable () -> Void)?

  package init(
    code: ExitCode = .ok, text: String, json: JSONValue, notice: String? = nil,
    whenWritten: (@Sendable () -> Void)? = nil
  ) {
    self.code = code
    self.text = text
    self.json = json
    self.notice = notice
    self.whenWritten = whenWritten
  }
}

/// Why a command did not do what it was asked for; `text` is one line.
package struct CommandFailure: Error, Equatable {
  package let code: ExitCode
  package let text: String

  package init(_ code: ExitCode, _ text: String) {
    self.code = code
    self.text = text
  }
}
