import Base
import JSON

/// The rules that a version of a batch can break, by the names that clients read.
enum VersionRule: String, Error, CaseIterable, Sendable {
  case signatureInvalid = "signature_invalid"
  case authorDiffers = "author_differs"
  case counterUsed = "counter_used"
  case ownVersionUncovered = "own_version_uncovered"
  case tooManyVersions = "too_many_versions"

  var sentence: String {
    switch self {
    case .signatureInvalid: "The signature does not match the author and the version."
    case .authorDiffers: "The author must be the key that makes the request."
    case .counterUsed: "The counter must be higher than those of the device's earlier versions."
    case .ownVersionUncovered: "The clock does not cover the device's own version of the document."
    case .tooManyVersions:
      "A document has at most \(DocumentStates.currentCountMax) versions side by side. Merge them."
    }
  }
}

/// A version of a batch and the rule that it breaks.
struct VersionFailure: Equatable, Sendable {
  let document: Identifier
  let counter: Int64
  let rule: VersionRule

  var json: JSONValue {
    [
      "document": .string(document.description), "counter": .integer(counter),
      "rule": .string(rule.rawValue), "detail": .string(rule.sentence),
    ]
  }
}
