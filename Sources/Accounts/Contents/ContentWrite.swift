package import Base
import Crypto
package import HTTPMessages
package import HTTPSignatures
package import Requests

/// A client's request to write content: of what, and the version that it replaces.
package struct ContentWrite: Sendable {
  package let credentials: Credentials
  /// What the content is of.
  package let id: Identifier
  /// The request's query, which may say more of the content.
  package let query: Substring?
  /// Identifies an upload and its repeats among the key's. It is a signed request's nonce, or, if a session's request
  /// announces a digest, its effect. So it is for what creates a resumable upload: a client whose signature has
  /// expired signs anew, and cannot cancel a URL that it never got.
  package let identity: [UInt8]?
  private let preconditions: Preconditions

  /// Without If-Match a client could overwrite a version that it never saw.
  package init(
    _ credentials: Credentials, _ id: Identifier, query: Substring?, _ headers: Headers,
    digest: ContentDigest?, createsUpload: Bool = false
  ) throws {
    self.credentials = credentials
    self.id = id
    self.query = query
    preconditions = try Preconditions(headers)
    guard preconditions.ifMatch != nil else { throw ContentRefusal.preconditionRequired }
    switch credentials.proof {
    case .signed(let signature) where !createsUpload: identity = signature.nonce
    case .key, .app: identity = nil
    case .session, .signed:
      identity = digest.map { digest in
        let conditions = ["if-match", "if-none-match"].map { headers.combined($0) ?? [] }
        let parts = [id.bytes] + conditions + digest.values.map(\.bytes)
        return SHA256.hash(parts.map { SHA256.hash($0) }.reduce([], +))
      }
    }
  }

  /// What has no content is at version 0.
  package func requireVersion(_ current: Int64) throws(ContentRefusal) {
    let tag = EntityTag(version: current)
    guard preconditions.evaluate(current: tag, isSafe: false) == .holds else {
      throw .versionChanged(current: current)
    }
  }
}
