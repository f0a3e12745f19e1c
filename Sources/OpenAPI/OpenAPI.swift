/// The descriptions of the programs' APIs in OpenAPI 3.1, embedded, so a binary carries them.
package enum OpenAPI {
  /// UTF-8 JSON: what `coffer-sync` serves.
  package static let sync: [UInt8] = PackageResources.sync_json
  /// What `coffer-billing` serves to clients; webhooks are their stores' own.
  package static let billing: [UInt8] = PackageResources.billing_json
}
