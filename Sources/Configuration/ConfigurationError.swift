/// All problems of a configuration, found in one pass, so that one edit fixes all of them.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
  package let problems: [Problem]

  /// One line for the operator, which never shows the value of a secret.
  package struct Problem: Equatable, Sendable {
    package enum Kind: Sendable { case missing, invalid }

    package let kind: Kind
    package let text: String

    package init(_ kind: Kind, _ text: String) {
      self.kind = kind
      self.text = text
    }
  }

  package init(_ problems: [Problem]) { self.problems = problems }

  package var lines: [String] { problems.map(\.text) }

  package var description: String { lines.joined(separator: "\n") }
}
