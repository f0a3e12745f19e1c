/// Why an object could not be stored, read or deleted.
package enum ObjectStoreError: Error, Equatable, Sendable {
  /// The disk is full or the file system fails. Trying later makes sense.
  case unavailable(reason: String)
  /// The settings are wrong: the keys, the bucket, its endpoint or its region. Trying again does not help.
  case misconfigured(reason: String)
  /// An object or an upload with this key exists already: keys are random and used once.
  case alreadyExists
  case busy
  /// The store does not have the bytes that a checkpoint counts.
  case incomplete
}

extension ObjectStoreError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unavailable(let reason), .misconfigured(let reason): reason
    case .alreadyExists: "there is an object of that key already"
    case .busy: "another writer has the object open"
    case .incomplete: "stored bytes of an unfinished object are missing"
    }
  }
}
