import Objects

/// Why a backup could not be made, read or restored, in one sentence.
package struct BackupError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The directory is not what was expected, or something would be overwritten.
    case refused
    /// The disk is full or fails. Trying later makes sense.
    case unavailable
    /// The content is not what was once written.
    case damaged
    /// A file of the backup is missing, or cannot be read.
    case unreadable
  }

  package let kind: Kind
  package let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}

extension BackupError {
  /// Runs `body`. A failure of the object store is a backup's failure, too.
  static func ofStore<Value>(
    _ body: () throws(ObjectStoreError) -> Value
  ) throws(BackupError) -> Value {
    do throws(ObjectStoreError) { return try body() } catch {
      throw BackupError(.unavailable, "\(error)")
    }
  }
}
