/// Why an object was not stored, read or deleted.
package enum ObjectStoreError: Error, Equatable, Sendable {
  /// The disk is full or the file system fails us; trying later makes sense.
  case unavailable(reason: String)
  /// There is an object, or an upload, under this key already: keys are random and used once.
  case alreadyExists
}

extension ObjectStoreError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unavailable(let reason): reason
    case .alreadyExists: "there is an object of that key already"
    }
  }
}
