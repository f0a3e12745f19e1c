import Base
import JSON

/// The rules that a version of a batch can break, by the names that clients read.
enum VersionRule: String, Error, CaseIterable, Sendable {
  case signatureInvalid = "signature_invalid"
  case authorDiffers = "author_differs"
  case counterUsed = "counter_used"
  case ownVersionUncovered = "own_version_uncovered"
  case tooManyVersions = "too_many_versions"
  case notAContact = "not_a_contact"
  case removalUncovered = "removal_uncovered"
  case tooManyDevices = "too_many_devices"
  case blobUnknown = "blob_unknown"

  var sentence: String {
    switch self {
    case .signatureInvalid: "The signature does not match the author and the version."
    case .authorDiffers: "The author must be the key that makes the request."
    case .counterUsed: "The counter must be higher than those of the device's earlier versions."
    case .ownVersionUncovered: "The clock does not cover the device's own version of the document."
    case .tooManyVersions:
      """
      A document has at most \(DocumentStates.currentCountMax) versions side by side, and \
      \(ReceivedStates.currentCountOfOneMax) of one other account: merge them. An account holds at most \
      \(ReceivedStates.countOfOneMax) of one other.
      """
    case .notAContact: "The account has no share with this one that was accepted, or blocks it."
    case .removalUncovered:
      "Another device removed the account from the document. Merge what that device wrote first."
    case .tooManyDevices: "The account holds versions of as many other devices as it may."
    case .blobUnknown: "The version names a blob that the account neither uploaded nor holds."
    }
  }
}

/// A version of a batch and the rule that it breaks.
struct VersionFailure: Equatable, Sendable {
  let document: Identifier
  let counter: Int64
  /// The account in which it breaks the rule; nil for the device's own.
  let receiver: Identifier?
  let rule: VersionRule

  var json: JSONValue {
    .object(
      [
        .init("document", .string(document.description)), .init("counter", .integer(counter)),
        .init("rule", .string(rule.rawValue)), .init("detail", .string(rule.sentence)),
      ] + (receiver.map { [.init("account", .string($0.description))] } ?? []))
  }
}
