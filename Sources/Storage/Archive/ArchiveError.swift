import Base

/// Why an archive could not be made or read, in one sentence.
package struct ArchiveError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The file is not what was expected, or something would be overwritten.
    case refused
    /// The disk is full or fails. Trying later makes sense.
    case unavailable
  }

  package let kind: Kind
  package let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  static func system(_ action: String, _ path: String) -> ArchiveError {
    ArchiveError(.unavailable, "cannot \(action) \(path): \(systemError())")
  }
}
