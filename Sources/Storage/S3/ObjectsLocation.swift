import Objects

/// Where large contents are stored.
package enum ObjectsLocation: Sendable, Equatable {
  case directory(String)
  case bucket(BucketAddress)

  /// Nil for a bucket.
  package var directory: String? {
    if case .directory(let path) = self { path } else { nil }
  }

  /// The largest content that can be stored there; nil if only the disk limits it.
  package var contentByteCountMax: Int64? {
    if case .bucket = self { Int64(BucketClient.partCountMax) * ObjectParts.byteCount } else { nil }
  }

  /// `file:///<directory>`, or the form of a bucket. Nil for anything else.
  package init?(_ text: String) {
    if let address = BucketAddress(text) {
      self = .bucket(address)
    } else if text.hasPrefix("file:///"), text.utf8.count > "file:///".utf8.count {
      self = .directory(String(text.dropFirst("file://".count)))
    } else {
      return nil
    }
  }
}

extension ObjectsLocation: CustomStringConvertible {
  /// The form that settings have.
  package var description: String {
    switch self {
    case .directory(let path): "file:///\(path.split(separator: "/").joined(separator: "/"))"
    case .bucket(let address): address.description
    }
  }
}
