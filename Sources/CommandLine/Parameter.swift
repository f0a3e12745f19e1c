internal import Configuration

/// Something a command takes, by its place or by its name: `<account>`, `--limit <count>`, `--json`.
///
/// This row is the only place that says any of it. Parsing, help, completion and the value that the
/// command gets are made from it.
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

/// A parameter whatever its value is, as tables, help and the parser hold it.
package protocol AnyParameter: Sendable {
  /// With its dashes, where it is given by name.
  var name: String { get }
  /// What the value of an option is called; nil for a flag, and for what is given by its place.
  var valueName: String? { get }
  var text: String { get }
  var isRequired: Bool { get }
  var isRepeatable: Bool { get }
  var completion: Completion { get }
  /// A `Held` value, made of the texts that were given for it.
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

  /// As a usage line shows it, brackets aside.
  package var usage: String { isOption ? valueName.map { "\(name) <\($0)>" } ?? name : "<\(name)>" }

  /// What help says of it. An argument's own usage shows whether it must be given.
  package var help: String { isOption && isRequired ? text + " (required)" : text }
}

// `name` alone is given by its place; with dashes, and `valueName`, by its name.
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

  /// Nil where it is not given.
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

  /// With a value where it is not given; `text` gets that value to tell of it.
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

  /// Given any number of times.
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
