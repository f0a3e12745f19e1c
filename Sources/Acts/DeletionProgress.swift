import Accounts
package import Answers
package import Base
package import CommandLine
package import JSON
import Ledger
package import Storage
package import Sync

/// A deletion that was asked for, with what both programs and the stores have done about it.
package struct DeletionProgress: Sendable {
  package let deletion: AccountDeletion
  package let parts: DeletionParts

  /// Nil if no deletion of the account was asked for.
  package init?(of account: Identifier, reading database: some Queryable) throws {
    guard let deletion = try AccountDeletion.find(account, reading: database),
      let parts = try DeletionParts(of: account, reading: database)
    else { return nil }
    (self.deletion, self.parts) = (deletion, parts)
  }

  /// `erased` once both programs have erased what they hold; until then `erasing`.
  package var state: AccountDeletion.State {
    deletion.state == .erased && parts.erased == nil ? .erasing : deletion.state
  }

  /// When the later of the two programs was done; nil until both are.
  package var erased: Instant? { parts.erased }

  /// The state with its moment. During the erasure, each part's state as well.
  package var text: String {
    let moment = erased ?? deletion.erases
    return state.rawValue + (moment.map { ", \($0)" } ?? "")
      + (state == .erasing ? " (\(parts.text))" : "")
  }
}

/// An account of `deletion list`.
package struct ListedDeletion: Sendable {
  package let progress: DeletionProgress
  /// Nil if the account has none, or none any more.
  package let username: String?

  package init?(_ deletion: AccountDeletion, _ reader: Reader) throws {
    guard let progress = try DeletionProgress(of: deletion.account, reading: reader) else {
      return nil
    }
    self.progress = progress
    username = try Account.find(reader, deletion.account)?.username
  }
}

extension DeletionParts {
  package static let shape: JSONShape = ["sync": .text, "billing": .text, "stores": .text]

  package var json: JSONValue {
    [
      "sync": .string(sync.rawValue), "billing": .string(billing.rawValue),
      "stores": .string(stores.rawValue),
    ]
  }

  package var text: String {
    "sync \(sync.rawValue), billing \(billing.rawValue), stores \(stores.rawValue)"
  }
}
