package import Base

/// What proves to an S3 service who asks.
package struct BucketKeys: Sendable {
  let id: String
  let secret: Secret
  /// Of credentials that end by themselves.
  let token: Secret?

  package init(id: String, secret: Secret, token: Secret? = nil) {
    self.id = id
    self.secret = secret
    self.token = token
  }

  /// `<access key id>:<secret access key>`; nil for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isVisible) })
    else { return nil }
    self.init(id: String(parts[0]), secret: Secret(String(parts[1])))
  }

  /// The usual variables of the environment; nil if there are none.
  package static func ofEnvironment() -> BucketKeys? {
    guard let id = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY")
    else { return nil }
    return BucketKeys(
      id: id, secret: Secret(secret), token: variable("AWS_SESSION_TOKEN").map { Secret($0) })
  }

  private static func variable(_ name: String) -> String? {
    environmentVariable(name).flatMap { $0.utf8.allSatisfy(isVisible) ? $0 : nil }
  }

  private static func isVisible(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte }
}
