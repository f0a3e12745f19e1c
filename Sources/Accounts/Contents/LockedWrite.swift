package import Base
package import Requests

/// A write of content whose transaction holds the rows that it concerns.
package struct LockedWrite {
  package let caller: Caller
  /// Reserves room for an object if the caller may write it now. Returns the account whose room it is.
  package let reserve: (ReservedObject) throws -> Identifier

  package init(by caller: Caller, reserve: @escaping (ReservedObject) throws -> Identifier) {
    self.caller = caller
    self.reserve = reserve
  }
}

/// An object that an upload will become, as room is reserved for it.
package struct ReservedObject: Sendable {
  package let id: Identifier
  package let byteCount: Int64
  /// The program that writes it; nil if the upload survives its program.
  let instance: Identifier?
  let expires: Instant

  package init(
    _ id: Identifier, byteCount: Int64, instance: Identifier?, until expires: Instant
  ) {
    self.id = id
    self.byteCount = byteCount
    self.instance = instance
    self.expires = expires
  }
}
