package import CommandLine
package import Configuration
package import Crypto

extension CommandFailure {
  package static let noSealingKeys = CommandFailure(
    .configuration, "COFFER_SEALING_KEYS is not set, and tokens and deliveries are stored encrypted"
  )
}

extension DatabaseConfiguration {
  /// The keys that open stored deliveries, for a command that can do nothing without.
  package func neededSealingKeys() throws(CommandFailure) -> SealingKeys {
    guard let sealingKeys else { throw .noSealingKeys }
    return sealingKeys
  }
}
