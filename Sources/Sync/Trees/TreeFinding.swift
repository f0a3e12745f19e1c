package import Base

/// A row that breaks a rule.
package struct TreeFinding: Sendable, Equatable {
  package let law: Law
  /// The file, or the account whose tree is seen.
  package let subject: Identifier

  init(_ law: Law, _ subject: Identifier) {
    self.law = law
    self.subject = subject
  }

  /// Has a name for programs and a sentence for people.
  package enum Law: String, Sendable, CaseIterable {
    case root, parent, cycle, depth, height, name, number, mark, deletion, content, object, link
    case signature
    case shareOfNothing = "share_of_nothing"
    case shareOwner = "share_owner"
    case shareLink = "share_link"
    case view

    package var text: String {
      switch self {
      case .root: "an account has one root, a live folder without a name, which its row names"
      case .parent:
        "a parent is a folder of the same owner; that of a deleted file may be forgotten"
      case .cycle: "every way up ends at the root"
      case .depth: "no live file is deeper than 128 levels"
      case .height: "a folder's height is not less than the levels below it"
      case .name: "no two live siblings have one name"
      case .number: "each file has a number of its own, not ahead of its account's sequence"
      case .mark: "everything below a deleted folder is deleted, or its folder is queued"
      case .deletion:
        "a file says when, and with which folder, it was deleted only if it is deleted"
      case .content:
        "content is in one place, where its size says, and as long as its row says; without content a row says 0 bytes"
      case .object: "the object of a document is there, whole, and no garbage"
      case .link: "a link is in its owner's tree and in no folder that others see"
      case .signature: "a key that the server knows, or erased, has signed what the record says"
      case .shareOfNothing: "a share's file exists, or its owner was erased"
      case .shareOwner: "a share names the owner of its file"
      case .shareLink: "a share is accepted exactly while a link of its sharee lives"
      case .view: "an account has a view of a tree exactly while a share of it is accepted"
      }
    }

    /// The laws that one account's records and contents can break by themselves. An archive that does is refused.
    package static let ofArchives: [Law] = [
      .root, .parent, .cycle, .depth, .height, .name, .number, .mark, .deletion, .content,
      .signature,
    ]
  }
}

extension FileRecord {
  var hasContent: Bool { kind == .document && contentVersion > 0 && !isDeleted }

  /// Whether it names the folder it was deleted with only if it is deleted.
  var isMarkRight: Bool { isDeleted || deletedWith == nil }

  /// Whether it has no size if it has no content, because its size is credited when it is deleted.
  var isWeightRight: Bool { hasContent || contentByteCount == 0 }
}
