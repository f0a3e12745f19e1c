import Configuration

/// A parameter of a command, given by its place or its name: `<account>`, `--limit <count>`, `--json`.
///
/// This is its only description. Parsing, help, completion and the value that the command gets are made from
/// it.
package struct Parameter<Value: Sendable>: AnyParameter {
  package let name: String
  package let valueName: String?
  package let text: String
  package let isRequired: Bool
  package let isRepeatable: Bool
  package let completion: Completion
  private let read: @Sendable ([String]) throws(CommandFailure) -> Value

  package func held(_ texts: [String]) throws(CommandFailure) -> any Sendable {
    Held(value: try read(texts))
  }
}

/// A parameter with any type of value, for tables, help and the parser.
package protocol AnyParameter: Sendable {
  /// The name, with dashes if the parameter is given by name.
  var name: String { get }
  /// The name of an option's value; nil for a flag, and for a parameter given by its place.
  var valueName: String? { get }
  var text: String { get }
  var isRequired: Bool { get }
  var isRepeatable: Bool { get }
  var completion: Completion { get }
  /// A `Held` value, made from the texts that were given for it.
  func held(_ texts: [String]) throws(CommandFailure) -> any Sendable
}

/// The value of a parameter of that type.
struct Held<Value: Sendable>: Sendable {
  package let value: Value
}

/// What a shell offers for a value.
package enum Completion: Sendable, Equatable {
  case nothing
  case file
  case words([String])
}

extension AnyParameter {
  private var isOption: Bool { name.hasPrefix("--") }

  /// The parameter in a usage line, without brackets.
  package var usage: String { isOption ? valueName.map { "\(name) <\($0)>" } ?? name : "<\(name)>" }

  /// Its text in help. An argument's own usage shows whether it is required.
  package var help: String { isOption && isRequired ? text + " (required)" : text }
}

// A parameter with only a `name` is given by its place. One with dashes and `valueName` is given by its name.
extension Parameter {
  package static func required(
    _ name: String, _ valueName: String? = nil, text: String, _ form: Form<Value>
  ) -> Parameter {
    Parameter(
      name: name, valueName: valueName, text: text, isRequired: true, isRepeatable: false,
      completion: form.completion
    ) { (texts) throws(CommandFailure) in
      guard let text = texts.last else { preconditionFailure("\(name) was not given") }
      return try form.read(text, name)
    }
  }

  /// A parameter that is nil if it is not given.
  package static func optional<Given: Sendable>(
    _ name: String, _ valueName: String? = nil, text: String, _ form: Form<Given>
  ) -> Parameter where Value == Given? {
    Parameter(
      name: name, valueName: valueName, text: text, isRequired: false, isRepeatable: false,
      completion: form.completion
    ) { (texts) throws(CommandFailure) in
      guard let text = texts.last else { return nil }
      return try form.read(text, name)
    }
  }

  /// A parameter with a default value; `text` gets that value in order to show it.
  package static func optional(
    _ name: String, _ valueName: String, text: (Value) -> String, _ form: Form<Value>,
    otherwise: Value
  ) -> Parameter {
    Parameter(
      name: name, valueName: valueName, text: text(otherwise), isRequired: false,
      isRepeatable: false, completion: form.completion
    ) { (texts) throws(CommandFailure) in
      guard let text = texts.last else { return otherwise }
      return try form.read(text, name)
    }
  }

  /// A parameter that can be given any number of times.
  package static func repeatable<Given: Sendable>(
    _ name: String, _ valueName: String, text: String, _ form: Form<Given>
  ) -> Parameter where Value == [Given] {
    Parameter(
      name: name, valueName: valueName, text: text, isRequired: false, isRepeatable: true,
      completion: form.completion
    ) { (texts) throws(CommandFailure) in
      var values: [Given] = []
      for text in texts { values.append(try form.read(text, name)) }
      return values
    }
  }
}

extension Parameter where Value == Bool {
  package static func flag(_ name: String, text: String) -> Parameter {
    Parameter(
      name: name, valueName: nil, text: text, isRequired: false, isRepeatable: false,
      completion: .nothing
    ) { (texts) throws(CommandFailure) in !texts.isEmpty }
  }
}
