internal import Base
internal import Configuration
internal import Crypto
internal import JSON
internal import KnownStores
internal import Ledger
internal import Storage
internal import Stores
internal import Subscriptions
internal import Sync

/// A row of a list of purchases that can be followed.
struct ImportWish: Sendable {
  let row: ImportFile.Row
  let account: Identifier
  let purchase: NamedPurchase
  /// What its store said last, where it is asked in vain for now.
  var lastError: String?
}

/// What the ledger says of a row, and what is done about it.
struct ImportSteps: Sendable {
  let ledger: Ledger
  let sealing: SealingKeys?
  let act: Act
  let reason: String

  static let ownedByAnother =
    "another account owns it; coffer subscription transfer gives it to this one"
  static let contested = "its store names two accounts as its purchaser"

  /// The row as it can be followed, or why not.
  func finding(
    of row: ImportFile.Row, at now: Instant, _ reader: Reader
  ) throws -> Result<(ImportWish, ClaimState), CommandFailure> {
    do {
      let purchase = try purchase(of: row)
      let account = try DatabaseSession.account(reader, row.account).id
      let wish = ImportWish(row: row, account: account, purchase: purchase)
      guard let key = try key(of: wish, reader) else {
        throw CommandFailure(
          .refused, "nothing is known of it: name the subscription that it is of")
      }
      let state = try ledger.claimState(of: key, for: account, at: now, reading: reader)
      if state == .unread, !ledger.isReadable(key) {
        throw CommandFailure(
          .refused, "\(row.store) is never asked: no key of its API is configured")
      }
      return .success((wish, state))
    } catch let failure as CommandFailure {
      return .failure(failure)
    }
  }

  private func purchase(of row: ImportFile.Row) throws(CommandFailure) -> NamedPurchase {
    guard let provider = ObjectKey.Provider(rawValue: row.store),
      let store = StoreList.known[provider]
    else {
      let names = StoreList.known.map(\.provider.rawValue).joined(separator: ", ")
      throw CommandFailure(.refused, "there is no such store: \(names)")
    }
    guard
      let purchase = StoreList.known.purchase(
        named: row.id, of: store, in: ledger.rules.grantingEnvironment)
    else {
      throw CommandFailure(.refused, "its id is no number that \(store.traits.title) gives")
    }
    if purchase.secret != nil, sealing == nil {
      throw CommandFailure(.refused, "a token is kept sealed: COFFER_SEALING_KEYS is not set")
    }
    return purchase
  }

  /// The subscription that a row is about, which may become another once it was read.
  private func key(of wish: ImportWish, _ reading: any Queryable) throws -> ObjectKey? {
    let keys = try ledger.subscriptions(named: wish.purchase, reading: reading)
    guard keys.count < 2 else {
      throw CommandFailure(.refused, "it is of several subscriptions: name the one")
    }
    return keys.first
  }

  /// What became of a row.
  enum Outcome {
    case given
    case failed(String)
    /// Asked for; what its store said to that last.
    case awaited(String?)
    /// It is to be claimed, or asked for again.
    case open
  }

  /// What the ledger says of a row; what an earlier run came to in vain is asked again where `isNew`.
  func outcome(
    of wish: ImportWish, isNew: Bool, at now: Instant, _ reading: any Queryable
  ) throws -> Outcome {
    do {
      guard let key = try key(of: wish, reading) else { return .failed("nothing is known of it") }
      let state = try ledger.claimState(of: key, for: wish.account, at: now, reading: reading)
      switch state {
      case .owned: return .given
      case .ownedByAnother: return .failed(Self.ownedByAnother)
      case .contested: return .failed(Self.contested)
      case .free: return .open
      case .awaited(let error): return .awaited(error)
      case .givenUp, .unknown, .unread:
        return isNew ? .open : .failed(Self.inVain(state))
      }
    } catch let failure as CommandFailure {
      return .failed(failure.text)
    }
  }

  /// Claims it, or has it read. What was seen of it may have changed since.
  func file(
    _ wish: ImportWish, at now: Instant, in transaction: Transaction
  ) throws -> Outcome {
    let seen = try outcome(of: wish, isNew: true, at: now, transaction)
    guard case .open = seen, let key = try key(of: wish, transaction) else { return seen }
    let filed = try ledger.file(
      key, payload: try wish.purchase.payload(sealing, reading: transaction), for: wish.account,
      at: now, in: transaction)
    if case .withoutKey = filed { return .failed("\(wish.row.store) is never asked") }
    let effect = Act.Effect(
      subject: key.description, account: wish.account, before: ["owner": .null],
      after: ["claimed_by": .string(wish.account.description)])
    try act.note(effect, because: reason, at: now, in: transaction)
    if case .claimed = filed { return .given }
    return .awaited(nil)
  }

  private static func inVain(_ state: ClaimState) -> String {
    switch state {
    case .givenUp(let error): "its store refuses: \(error ?? "no reason is known")"
    case .unknown: "its store does not know it"
    default: "its store was asked, and told of no purchase"
    }
  }
}
