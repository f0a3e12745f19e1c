import Base
import HTTPClient

/// Where a bucket is, and the part of it that is Coffer's.
package struct BucketAddress: Sendable, Equatable {
  package let bucket: String
  /// Empty, or ends with a slash.
  package let prefix: String
  package let region: String
  /// The scheme and the host, with its port if that is not the scheme's own.
  package let scheme: String
  package let authority: String

  /// A file with the authorities (PEM) of the service's certificate; nil for those that the system trusts.
  package let authorityFile: String?

  package static let form =
    "s3://<bucket>[/<prefix>]?region=<region>[&endpoint=<https URL>][&ca=<file>]"

  /// Nil if the text has not this form. Without an endpoint it is Amazon's in that region.
  package init?(_ text: String) {
    guard text.hasPrefix("s3://") else { return nil }
    let halves = text.dropFirst(5).split(separator: "?", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let path = halves[0].split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    guard let bucket = path.first, path.allSatisfy(Self.isPlain), !halves[0].hasPrefix("/") else {
      return nil
    }
    var options: [String: String] = [:]
    for option in halves[1].split(separator: "&", omittingEmptySubsequences: false) {
      let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, ["ca", "endpoint", "region"].contains(parts[0]),
        options[parts[0]] == nil
      else { return nil }
      options[parts[0]] = parts[1]
    }
    guard let region = options["region"], Self.isPlain(region) else { return nil }
    let authorityFile = options["ca"]
    guard authorityFile?.hasPrefix("/") ?? true else { return nil }
    let endpoint = options["endpoint"] ?? "https://s3.\(region).amazonaws.com"
    guard let address = WebAddress(endpoint), address.isPrivate,
      let end = endpoint.firstRange(of: "://")
    else { return nil }
    var authority = endpoint[end.upperBound...].lowercased()
    if authority.hasSuffix("/") { authority.removeLast() }
    guard !authority.contains("/") else { return nil }
    let port = address.scheme == "https" ? ":443" : ":80"
    if authority.hasSuffix(port) { authority.removeLast(port.count) }
    self.bucket = bucket
    self.region = region
    self.authority = authority
    prefix = path.dropFirst().map { $0 + "/" }.joined()
    scheme = address.scheme
    self.authorityFile = authorityFile
  }

  private static func isPlain(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".."
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.".contains($0) }
  }
}

extension BucketAddress: CustomStringConvertible {
  package var description: String {
    "s3://\(bucket)/\(prefix.dropLast())?region=\(region)&endpoint=\(scheme)://\(authority)"
      + (authorityFile.map { "&ca=\($0)" } ?? "")
  }
}
