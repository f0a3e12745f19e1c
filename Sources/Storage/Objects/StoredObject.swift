package import Base

/// An object that can be read: a file here, or bytes that another machine has.
package enum StoredObject: Sendable {
  case file(OpenFile)
  case distant(any DistantObject)

  package var byteCount: Int64 {
    switch self {
    case .file(let file): file.byteCount
    case .distant(let object): object.byteCount
    }
  }

  /// The object as a file of this machine. A distant one is fetched whole.
  package func file() throws(ObjectStoreError) -> OpenFile {
    switch self {
    case .file(let file): file
    case .distant(let object): try object.fetch()
    }
  }
}

/// An object on another machine.
package protocol DistantObject: Sendable {
  var byteCount: Int64 { get }

  /// A URL at which anyone can read the object for a minute; nil if the operator does not want that.
  func link() -> String?

  /// Exactly these bytes. Blocks for as long as the network takes.
  func read(_ range: Range<Int64>) throws(ObjectStoreError) -> [UInt8]

  /// The whole object, in a file without a name.
  func fetch() throws(ObjectStoreError) -> OpenFile
}
