package import Configuration
package import JSON

/// A command of `coffer`: its parameters, its description and its function.
///
/// Parsing, help and completion are made from this value alone, so none can disagree with another.
package struct Command: Sendable {
  /// The words that call it: `["account", "create"]`.
  package let words: [String]
  /// What it does: imperative, at most 60 characters, without a full stop.
  package let abstract: String
  /// What operators must know beyond the abstract; may be empty.
  package let discussion: String
  /// Lines that an operator can type.
  package let examples: [String]
  /// The arguments, which are given by place. Only the last can be optional.
  package let arguments: [any AnyParameter]
  /// The options, which are given by name.
  package let options: [any AnyParameter]
  /// The shape of its JSON.
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

  /// The parts of its usage line, each unbroken. Optional parts are in brackets.
  package var usage: [String] {
    words + (arguments + options).map { $0.isRequired ? $0.usage : "[\($0.usage)]" }
  }

  /// The command's own options and those of every command.
  var allOptions: [any AnyParameter] { options + CommonOptions.all }
}

/// Arguments that several commands take.
package enum CommonArguments {
  /// An account as an operator names it; `DatabaseSession.account` finds it.
  package static let account = Parameter<String>.required(
    "account", text: "account id or username", .text)
}

/// The options of every command.
package enum CommonOptions {
  package static let all: [any AnyParameter] = [config, json, help]
  /// The options that can come before a command, or without one.
  package static let leading: [any AnyParameter] = all + [version]
  package static let short: [String: any AnyParameter] = ["-h": help, "-V": version]

  package static let config = Parameter<String?>.optional(
    "--config", "path", text: "file of settings, KEY=value lines; the environment takes precedence",
    .path)
  package static let json = Parameter<Bool>.flag("--json", text: "print JSON")
  package static let help = Parameter<Bool>.flag("--help", text: "print this help")
  package static let version = Parameter<Bool>.flag("--version", text: "print the version")
}

/// The answer of a command, for people and for programs; the caller chooses which.
package struct Answer: Sendable {
  package var code: ExitCode
  package private(set) var text: String
  package private(set) var json: JSONValue
  /// A line for people in addition to either form, on stderr; nil for none.
  package var notice: String?
  /// What to do after the answer is completely written; nil for nothing.
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

  /// The answer, whose JSON is an object, with more members, and more text before and after its own.
  package func adding(
    _ members: [JSONValue.Member], heading: String = "", text more: String = ""
  ) -> Answer {
    guard case .object(let own) = json else { preconditionFailure("only objects have members") }
    var answer = self
    (answer.text, answer.json) = (heading + text + more, .object(own + members))
    return answer
  }
}

/// Why a command did not do what it was asked to do; `text` is one line.
package struct CommandFailure: Error, Equatable {
  package let code: ExitCode
  package let text: String

  package init(_ code: ExitCode, _ text: String) {
    self.code = code
    self.text = text
  }
}
