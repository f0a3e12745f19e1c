import Base
import Endpoints
import HTTPMessages
package import JSON
import Requests

/// The refusals that only chains have, each for one reason that a client can act on.
enum ChainRefusal: AnswerableError, Equatable {
  case chainNotFound
  case chainExists
  case ownChainExists(Identifier)
  case tooManyChains(max: Int64)
  case chainFull
  case blocksRefused(ChainFailure)
  case headChanged(ChainPoint)
  case sinceInvalid

  var problem: Problem {
    switch self {
    case .chainNotFound:
      Problem(404, "chain_not_found", "Chain not found", "There is no such chain.")
    case .chainExists:
      Problem(409, "chain_exists", "Chain exists", "A chain with this id exists.")
    case .ownChainExists(let chain):
      Problem(
        409, "own_chain_exists", "Own chain exists", "The account has a chain of its own.",
        members: [.init("chain", .string(chain.description))])
    case .tooManyChains(let max):
      Problem(
        409, "too_many_chains", "Too many chains", "An account has at most \(max) chains.")
    case .chainFull:
      Problem(
        409, "chain_full", "Chain full",
        "A chain has at most \(ChainBlock.epochMax) blocks. Begin another one.")
    case .blocksRefused(let failure):
      Problem(
        422, "blocks_refused", "Blocks refused",
        "\(failure.rule.sentence) Nothing was stored.",
        members: [
          .init("index", .integer(Int64(failure.index))),
          .init("rule", .string(failure.rule.rawValue)),
        ])
    case .headChanged(let head):
      Problem(
        409, "head_changed", "Head changed",
        "Another block follows the parent. Read the blocks, and make yours anew after the head.",
        members: [.init("head", head.json)])
    case .sinceInvalid:
      Problem(400, "since_invalid", "Since invalid", "since must be an epoch.")
    }
  }
}

extension ChainPoint {
  package var json: JSONValue { ["epoch": .integer(epoch), "hash": .base64(hash)] }
}
