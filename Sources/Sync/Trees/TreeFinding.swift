package import Base

/// That a row breaks a rule.
package struct TreeFinding: Sendable, Equatable {
  package let law: Law
  /// The file, or the account whose tree is seen.
  package let subject: Identifier

  init(_ law: Law, _ subject: Identifier) {
    self.law = law
    self.subject = subject
  }

  /// In the words of a program, and in a sentence.
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
      case .parent: "a parent is a folder of the same owner"
      case .cycle: "every way up ends at the root"
      case .depth: "no file lies deeper than 128 levels"
      case .height: "a folder's height is not less than the levels beneath it"
      case .name: "no two live siblings have one name"
      case .number: "each file has a number of its own, not ahead of its account's sequence"
      case .mark: "what lies beneath a deleted folder is deleted, or its folder is queued"
      case .deletion:
        "a file says when, and with which folder, it was deleted only if it is deleted"
      case .content:
        "content is in one place, where its size says, and as long as its row says; without content a row says 0 bytes"
      case .object: "the object of a document is there, whole, and no garbage"
      case .link: "a link lies in its owner's tree and in no folder that others see"
      case .signature: "a key that the server knows, or erased, has signed what the record says"
      case .shareOfNothing: "a share's file exists, or its owner was erased"
      case .shareOwner: "a share names the owner of its file"
      case .shareLink: "a share is accepted exactly while a link of its sharee lives"
      case .view: "an account has a view of a tree exactly while a share of it is accepted"
      }
    }

    /// Those that the records and contents of one account can break by themselves: an archive that breaks
    /// one was written by no server, and none takes it in.
    package static let ofArchives: [Law] = [
      .root, .parent, .cycle, .depth, .height, .name, .number, .mark, .deletion, .content,
      .signature,
    ]
  }
}

extension FileRecord {
  /// Whether a content belongs to it.
  var hasContent: Bool { kind == .document && contentVersion > 0 && !isDeleted }

  /// Whether it names what it was deleted with only if it is deleted.
  var isMarkRight: Bool { isDeleted || deletedWith == nil }

  /// Whether it weighs nothing where it has no content: what it weighs is credited when it goes.
  var isWeightRight: Bool { hasContent || contentByteCount == 0 }
}
