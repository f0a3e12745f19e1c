package import Base

/// The rules that a change of a batch can break, by the names that clients read.
package enum Rule: String, CaseIterable, Sendable {
  case stale
  case fileDeleted = "file_deleted"
  case parentDeleted = "parent_deleted"
  case shareStale = "share_stale"
  case idTaken = "id_taken"
  case duplicateID = "duplicate_id"
  case signatureInvalid = "signature_invalid"
  case fileNotFound = "file_not_found"
  case notPermitted = "not_permitted"
  case rootImmutable = "root_immutable"
  case oneRoot = "one_root"
  case typeImmutable = "type_immutable"
  case ownerImmutable = "owner_immutable"
  case targetImmutable = "target_immutable"
  case deletionChangesRecord = "deletion_changes_record"
  case parentNotFound = "parent_not_found"
  case parentNotFolder = "parent_not_folder"
  case ownerDiffers = "owner_differs"
  case nameTaken = "name_taken"
  case cycle
  case tooDeep = "too_deep"
  case linkTargetNotFound = "link_target_not_found"
  case linkTargetOwned = "link_target_owned"
  case linkExists = "link_exists"
  case linkNotOwnTree = "link_not_own_tree"
  case linkInSharedFolder = "link_in_shared_folder"
  case tooManyLinks = "too_many_links"
  case tooManyOwners = "too_many_owners"
  case linkNotShareable = "link_not_shareable"
  case notOwner = "not_owner"
  case shareWithOwner = "share_with_owner"
  case accountNotFound = "account_not_found"
  case shareNotFound = "share_not_found"
  case tooManyShares = "too_many_shares"
  case tooManyInvitations = "too_many_invitations"
  case invitationNotTaken = "invitation_not_taken"

  /// True if the client's view is outdated: it should pull, merge and try again.
  package var isCuredByPulling: Bool {
    switch self {
    case .stale, .fileDeleted, .parentDeleted, .shareStale: true
    default: false
    }
  }

  package var sentence: String {
    switch self {
    case .stale: "The file is not where the change expects it, or exists already."
    case .fileDeleted: "The file is deleted, by itself or with a folder above it."
    case .parentDeleted: "The parent is deleted, by itself or with a folder above it."
    case .shareStale: "The share is not in the state the change expects."
    case .idTaken: "Another file has this id, or links to one that had it are left."
    case .duplicateID: "The batch changes this more than once."
    case .signatureInvalid: "The signature does not match the author and the statement."
    case .fileNotFound: "There is no such file."
    case .notPermitted: "The caller's access does not allow this change."
    case .rootImmutable: "A root cannot be changed or shared."
    case .oneRoot: "A tree has only the root that its account was created with."
    case .typeImmutable: "The type of a file cannot change."
    case .ownerImmutable: "The owner of a file cannot change."
    case .targetImmutable: "The target of a link cannot change."
    case .deletionChangesRecord: "A deletion must repeat the current record."
    case .parentNotFound: "There is no such parent."
    case .parentNotFolder: "Only folders can have children."
    case .ownerDiffers: "A file must have the owner of its parent."
    case .nameTaken: "A file with this name already exists in the folder."
    case .cycle: "The file would be below itself."
    case .tooDeep: "The tree would have more than \(AncestorTree.depthMax) levels."
    case .linkTargetNotFound: "The caller has no share of the link's target."
    case .linkTargetOwned: "A link must lead to another account's file."
    case .linkExists: "The caller already has a link to this file."
    case .linkNotOwnTree: "A link must be in the tree of the account that creates it."
    case .linkInSharedFolder: "A link cannot be in a folder that others see."
    case .tooManyLinks: "An account has at most \(BatchRules.linkCountMax) links."
    case .tooManyOwners: "An account sees at most \(BatchRules.viewCountMax) other accounts' trees."
    case .linkNotShareable: "A link cannot be shared; its target's owner can share the target."
    case .notOwner: "Only the owner of a file can grant and revoke access to it."
    case .shareWithOwner: "The owner of a file needs no share of it."
    case .accountNotFound: "There is no such account."
    case .shareNotFound: "There is no such share."
    case .tooManyShares:
      "A file has at most \(BatchRules.shareCountMax) shares at a time, and one account at most "
        + "\(BatchRules.sharesBetweenMax) of another's."
    case .tooManyInvitations: "Too many invitations to strangers are unanswered."
    case .invitationNotTaken: "The account does not accept invitations from the caller now."
    }
  }
}

/// A change of a batch and the rule that it breaks.
package struct Failure: Equatable, Sendable {
  package let file: Identifier
  /// The account whose share it is, for a change of a share.
  package let account: Identifier?
  package let rule: Rule
}
