import Base
import Chains
import Endpoints
import HTTPMessages
import JSON

/// The refusals of commits besides those of chains and mailboxes, each for one reason that a client can act on.
enum CommitRefusal: AnswerableError, Equatable {
  case commitDiffers(Identifier?)
  case notMember
  case epochPassed(ChainPoint)

  var problem: Problem {
    switch self {
    case .commitDiffers(let commit):
      Problem(
        409, "commit_differs", "Another commit",
        "The block is stored with another commit, or with none. Take that one over, or make another block.",
        members: [.init("commit", commit.map { .string($0.description) } ?? .null)])
    case .notMember:
      Problem(
        403, "not_member", "Not a member",
        "The key that makes the request is no member of the chain.")
    case .epochPassed(let head):
      Problem(
        409, "epoch_passed", "Epoch passed",
        "The chain is at another epoch. Read its blocks, and seal the message again.",
        members: [.init("head", head.json)])
    }
  }
}
