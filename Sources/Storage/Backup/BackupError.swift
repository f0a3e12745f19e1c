/// Why a backup was not made, read or restored, in one sentence.
package struct BackupError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// It is not what it was taken for, or would overwrite something.
    case refused
    /// The disk is full or fails us; trying later makes sense.
    case unavailable
    /// It is not what was once written.
    case damaged
    /// A file of it is missing, or cannot be read.
    case unreadable
  }

  package let kind: Kind
  package let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
