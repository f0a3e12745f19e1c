import EmbeddedOpenAPI

/// The descriptions of the programs' APIs in OpenAPI 3.1, embedded, so a binary carries them.
package enum OpenAPI {
  /// UTF-8 JSON: what `coffer-sync` serves.
  package static let sync = unsafe bytes(embedded_sync_json())
  /// What `coffer-billing` serves to clients; webhooks are their stores' own.
  package static let billing = unsafe bytes(embedded_billing_json())

  private static func bytes(_ file: embedded_file) -> [UInt8] {
    unsafe [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.count))
  }
}
