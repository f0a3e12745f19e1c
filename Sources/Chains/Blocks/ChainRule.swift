/// The rules that a block can break, by the names that clients read.
enum ChainRule: String, Error, CaseIterable, Sendable {
  case hashInvalid = "hash_invalid"
  case signatureInvalid = "signature_invalid"
  case authorDiffers = "author_differs"
  case chainDiffers = "chain_differs"
  case rootInvalid = "root_invalid"
  case parentDiffers = "parent_differs"
  case epochDiffers = "epoch_differs"
  case authorNotMember = "author_not_member"
  case authorRemoved = "author_removed"
  case alreadyMember = "already_member"
  case notMember = "not_member"
  case tooManyMembers = "too_many_members"
  case deviceUnknown = "device_unknown"
  case ownerLeaves = "owner_leaves"
  case revocationMissing = "revocation_missing"

  var sentence: String {
    switch self {
    case .hashInvalid: "The hash is not that of the block."
    case .signatureInvalid: "The signature does not match the author and the block."
    case .authorDiffers: "The author must be the key that makes the request."
    case .chainDiffers: "The block names another chain."
    case .rootInvalid: "A root has the epoch 0, no parent, and adds its author alone."
    case .parentDiffers: "The parent is not the block before."
    case .epochDiffers: "The epoch must be that of the parent and one more."
    case .authorNotMember: "The author is not a member after the parent."
    case .authorRemoved: "No member removes itself."
    case .alreadyMember: "A key that the block adds is a member already."
    case .notMember: "A key that the block removes is not a member."
    case .tooManyMembers: "A chain has at most \(ChainMembers.countMax) members."
    case .deviceUnknown: "A key that the block adds is no device that may join the chain."
    case .ownerLeaves: "The account that made the chain keeps a device in it."
    case .revocationMissing:
      "A device that leaves the account's own chain is revoked. Send its revocation, too."
    }
  }
}

/// A block of a request and the rule that it breaks. The blocks after it are not judged.
struct ChainFailure: Error, Equatable, Sendable {
  let index: Int
  let rule: ChainRule
}
