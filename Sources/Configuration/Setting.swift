/// One setting: its name, its description for operators, and the parser of its text.
///
/// This row is the only source of these. Help, docs/settings.md, `coffer config` and the value that
/// a program gets are made from it.
package struct Setting<Value>: AnySetting {
  package let name: String
  package let programs: [Program]
  package let absence: Absence
  package let text: String
  package let example: String
  package let parser: Parser<Value>
  package let namesSecret: Bool
  private let secrecy: @Sendable (String) -> Bool

  package init(
    _ name: String, for programs: [Program], _ absence: Absence, text: String, example: String,
    parser: Parser<Value>, namesSecret: Bool = false,
    isSecret: @escaping @Sendable (String) -> Bool = { _ in false }
  ) {
    self.name = name
    self.programs = programs
    self.absence = absence
    self.text = text
    self.example = example
    self.parser = parser
    self.namesSecret = namesSecret
    secrecy = isSecret
  }

  package func isSecret(_ value: String) -> Bool { secrecy(value) }
}

/// A setting of any value type, as tables and help hold it.
package protocol AnySetting<Value>: Sendable {
  associatedtype Value
  /// The name in the environment and in the configuration file; begins with `SettingsTable.namePrefix`.
  var name: String { get }
  var programs: [Program] { get }
  var absence: Absence { get }
  var text: String { get }
  var example: String { get }
  var parser: Parser<Value> { get }
  /// Whether this value must stay out of every message.
  func isSecret(_ value: String) -> Bool
  /// Whether the value is the path of a file that holds a secret.
  var namesSecret: Bool { get }
}

/// The meaning of an absent setting.
package enum Absence: Sendable {
  case required
  /// Required by these programs, unused by the others.
  case requiredBy([Program])
  case value(String)
  /// Each program has its own value.
  case values([(Program, String)])
  /// Absence has a meaning that is not a value.
  case meaning(String)

  package var text: String {
    switch self {
    case .required: "required"
    case .requiredBy(let programs):
      "required by " + programs.map(\.rawValue).joined(separator: ", ")
    case .value(let value), .meaning(let value): value
    case .values(let values):
      values.map { "\($1) (\($0.rawValue))" }.joined(separator: ", ")
    }
  }

  /// The text that replaces an absent setting; nil if it has no value then.
  func value(for program: Program) -> String? {
    switch self {
    case .value(let value): value
    case .values(let values): values.first { $0.0 == program }?.1
    case .required, .requiredBy, .meaning: nil
    }
  }

  func isRequired(by program: Program) -> Bool {
    switch self {
    case .required: true
    case .requiredBy(let programs): programs.contains(program)
    case .value, .values, .meaning: false
    }
  }
}
