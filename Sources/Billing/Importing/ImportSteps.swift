package import Base
package import Ledger
package import Storage
package import Stores
package import Subscriptions

/// A row of a list of purchases that can be carried out.
struct ImportClaim: Sendable {
  let row: ImportFile.Row
  let account: Identifier
  let purchase: NamedPurchase
  /// The store's last error, if its reads are failing at present.
  var lastError: String?
}

/// What the ledger knows of a row, and what is done about it.
package struct ImportSteps: Sendable {
  private let ledger: Ledger
  private let isSealed: Bool
  private let act: Act

  /// What the caller of an import provides.
  package struct Act: Sendable {
    /// The account of that name; throws an `ImportProblem` if there is none.
    let account: @Sendable (_ name: String, Reader) throws -> Identifier
    /// The payload of a job that reads by a secret.
    let payload: @Sendable (NamedPurchase, Transaction) throws -> [UInt8]?
    /// Records that a purchase is claimed for an account.
    let note: @Sendable (ObjectKey, Identifier, Instant, Transaction) throws -> Void

    package init(
      account: @escaping @Sendable (_ name: String, Reader) throws -> Identifier,
      payload: @escaping @Sendable (NamedPurchase, Transaction) throws -> [UInt8]?,
      note: @escaping @Sendable (ObjectKey, Identifier, Instant, Transaction) throws -> Void
    ) {
      self.account = account
      self.payload = payload
      self.note = note
    }
  }

  /// `isSealed` is whether secrets can be stored.
  package init(ledger: Ledger, isSealed: Bool, _ act: Act) {
    self.ledger = ledger
    self.isSealed = isSealed
    self.act = act
  }

  static let ownedByAnother =
    "another account owns it; coffer subscription transfer gives it to this one"
  static let contested = "its store names two accounts as its purchaser"

  /// The row in a form that can be carried out, or why it cannot be.
  func finding(
    of row: ImportFile.Row, at now: Instant, _ reader: Reader
  ) throws -> Result<(ImportClaim, ClaimState), ImportProblem> {
    do {
      let purchase = try purchase(of: row)
      let account = try act.account(row.account, reader)
      let claim = ImportClaim(row: row, account: account, purchase: purchase)
      guard let key = try key(of: claim, reader) else {
        throw ImportProblem("there is no record of it: name its subscription")
      }
      let state = try ledger.claimState(of: key, for: account, at: now, reading: reader)
      if state == .unread, !ledger.isReadable(key) {
        throw ImportProblem("\(row.store) cannot be queried: no key of its API is configured")
      }
      return .success((claim, state))
    } catch let failure as ImportProblem {
      return .failure(failure)
    }
  }

  private func purchase(of row: ImportFile.Row) throws(ImportProblem) -> NamedPurchase {
    guard let provider = ObjectKey.Provider(rawValue: row.store),
      let store = ledger.stores[provider]
    else {
      let names = ledger.stores.map(\.provider.rawValue).joined(separator: ", ")
      throw ImportProblem("there is no such store: \(names)")
    }
    guard
      let purchase = ledger.stores.purchase(
        named: row.id, of: store, in: ledger.rules.grantingEnvironment)
    else { throw ImportProblem("its id is no number that \(store.traits.title) gives") }
    if purchase.secret != nil, !isSealed {
      throw ImportProblem("tokens are stored encrypted, and COFFER_SEALING_KEYS is not set")
    }
    return purchase
  }

  /// The subscription that a row is about, which can be another one after it was read.
  private func key(of claim: ImportClaim, _ reading: any Queryable) throws -> ObjectKey? {
    let keys = try ledger.subscriptions(named: claim.purchase, reading: reading)
    guard keys.count < 2 else {
      throw ImportProblem("it is of several subscriptions: name the one")
    }
    return keys.first
  }

  /// The result of a row.
  enum Outcome {
    case given
    case failed(String)
    /// The read is requested; with the store's last error.
    case awaited(String?)
    /// Still to be claimed, or to be requested again.
    case open
  }

  /// The row's outcome by the ledger. If `isNew`, what an earlier run requested in vain is requested again.
  func outcome(
    of claim: ImportClaim, isNew: Bool, at now: Instant, _ reading: any Queryable
  ) throws -> Outcome {
    do {
      guard let key = try key(of: claim, reading) else { return .failed("nothing is known of it") }
      let state = try ledger.claimState(of: key, for: claim.account, at: now, reading: reading)
      switch state {
      case .owned: return .given
      case .ownedByAnother: return .failed(Self.ownedByAnother)
      case .contested: return .failed(Self.contested)
      case .free: return .open
      case .awaited(let error): return .awaited(error)
      case .givenUp, .unknown, .unread:
        return isNew ? .open : .failed(Self.inVain(state))
      }
    } catch let failure as ImportProblem {
      return .failed(failure.text)
    }
  }

  /// Claims the purchase or requests its read. Its state may have changed since it was looked at.
  func file(
    _ claim: ImportClaim, at now: Instant, in transaction: Transaction
  ) throws -> Outcome {
    let seen = try outcome(of: claim, isNew: true, at: now, transaction)
    guard case .open = seen, let key = try key(of: claim, transaction) else { return seen }
    let filed = try ledger.file(
      key, payload: try act.payload(claim.purchase, transaction), for: claim.account,
      at: now, in: transaction)
    if case .withoutKey = filed { return .failed("\(claim.row.store) is never asked") }
    try act.note(key, claim.account, now, transaction)
    if case .claimed = filed { return .given }
    return .awaited(nil)
  }

  private static func inVain(_ state: ClaimState) -> String {
    switch state {
    case .givenUp(let error): "its store refuses: \(error ?? "no reason is known")"
    case .unknown: "its store does not know it"
    default: "its store was asked and knows no such purchase"
    }
  }
}
