package import Accounts
package import Answers
package import Base
import Chains
package import Crypto
import Documents
package import Ledger
import Logs
import PublicLinks
package import Storage
import Sync

/// What a text names in the rows of both programs.
package struct FindResult: Sendable {
  package let accounts: [FoundAccount]
  package let finding: Finding
  /// The accounts that pay twice, in the order of `accounts`.
  package let twice: [(account: Identifier, paid: PaidTwice)]

  package struct FoundAccount: Sendable {
    package let id: Identifier
    /// Nil if there is no such account, or no longer one.
    package let account: Account?
    package let deleted: Instant?
    /// The progress of its deletion; nil if none was requested.
    package let deletion: DeletionProgress?
    /// How it was found.
    package let by: String

    /// An account that was erased here still has a row.
    init(_ id: Identifier, by: String, _ ledger: Ledger, reading reader: Reader) throws {
      deletion = try DeletionProgress(of: id, reading: reader)
      self.id = id
      self.by = by
      account = deletion?.deletion.erased == nil ? try Account.find(reader, id) : nil
      deleted =
        if account != nil { nil } else if let deletion { deletion.erased } else {
          try Finding.Account(id, ledger, reading: reader)?.deleted
        }
    }
  }

  package init(
    _ text: String, at now: Instant, _ ledger: Ledger, key: SearchKey?, reading reader: Reader
  ) throws {
    var named = try Self.named(text, ledger, reading: reader)
    finding = try Finding(
      text, owners: named.map(\.id), at: now, of: ledger, key: key, reading: reader)
    func add(_ id: Identifier, by: String) throws {
      guard !named.contains(where: { $0.id == id }) else { return }
      named.append(try FoundAccount(id, by: by, ledger, reading: reader))
    }
    for account in finding.accounts { try add(account.id, by: "its id, in the ledger") }
    for subscription in finding.subscriptions {
      if let owner = subscription.owner { try add(owner, by: "owns \(subscription.key)") }
      for id in subscription.claimants { try add(id, by: "claims \(subscription.key)") }
      for owner in subscription.formerOwners {
        try add(owner.account, by: "owned \(subscription.key)")
      }
    }
    for other in finding.others {
      for id in other.claimants { try add(id, by: "claims \(other.key)") }
    }
    accounts = named
    twice = try named.compactMap { account in
      try PaidTwice(by: account.id, at: now, of: ledger, reading: reader).map { (account.id, $0) }
    }
  }

  /// The accounts that the text itself names.
  private static func named(
    _ text: String, _ ledger: Ledger, reading reader: Reader
  ) throws -> [FoundAccount] {
    var found: [FoundAccount] = []
    func add(_ id: Identifier?, by: String) throws {
      guard let id, !found.contains(where: { $0.id == id }), try Account.find(reader, id) != nil
      else { return }
      found.append(try FoundAccount(id, by: by, ledger, reading: reader))
    }
    if let id = Identifier(text) {
      try add(id, by: "its id")
      // The row of an erased account is gone as well, and coffer-billing may never have heard of it.
      if found.isEmpty, try AccountDeletion.find(id, reading: reader) != nil {
        found.append(try FoundAccount(id, by: "its id", ledger, reading: reader))
      }
      try add(FileRecord.owner(reader, of: id), by: "the id of its file")
      for holder in try DocumentHolders.accounts(reader, of: id) {
        try add(holder, by: "the id of its document")
      }
      try add(DocumentBlob.owner(reader, of: id), by: "the id of its blob")
      try add(MessageLog.owner(reader, of: id), by: "the id of its log")
      try add(Chain.owner(reader, of: id), by: "the id of its chain")
    }
    for owner in try BudgetOfLog.owners(reader, of: text) {
      try add(owner, by: "the id of its budget")
    }
    try add(AppPassword.owner(reader, of: text), by: "the id of its app password")
    if let token = LinkToken(inURL: text) {
      try add(PublicLink.find(reader, token)?.owner, by: "its public link")
    }
    if let name = Username(text) { try add(Account.find(reader, name)?.id, by: "its username") }
    let joined = text.filter { !$0.isWhitespace }
    for key in Set([Base64.standard.decode(joined), Base64.url.decode(joined), Hex.decode(joined)])
    {
      guard let key, key.count == 32 else { continue }
      try add(RecoveryKey.find(reader, key)?.account, by: "its recovery key")
      guard let found = try Device.find(reader, key) else { continue }
      try add(
        found.account, by: found.device.revoked == nil ? "a key of its" : "a revoked key of its")
    }
    return found
  }

  package var isEmpty: Bool { accounts.isEmpty && finding.isEmpty }
}
