import Archive
import Backup
package import CommandLine
import Configuration
import Crypto
import Endpoints
import HTTPClient
import HTTPMessages
import Objects
import Orders
import Storage

extension CommandFailure {
  /// The one place that turns an error of the modules below into a line and an exit code.
  package init(of error: any Error) {
    self =
      switch error {
      case let failure as CommandFailure: failure
      case let error as DatabaseError: Self.databaseFailure(error)
      case let error as BackupError:
        switch error.kind {
        case .unavailable, .unreadable: CommandFailure(.unavailable, error.description)
        case .refused, .damaged: CommandFailure(.refused, error.description)
        }
      case let error as ArchiveError:
        CommandFailure(error.kind == .unavailable ? .unavailable : .refused, error.description)
      case ObjectStoreError.unavailable(let reason): CommandFailure(.unavailable, reason)
      case ObjectStoreError.misconfigured(let reason):
        CommandFailure(.configuration, "COFFER_OBJECTS: \(reason)")
      case CryptoError.unknownKey:
        CommandFailure(
          .configuration,
          "stored data was sealed with none of the keys in \(BillingSettings.sealingKeys.name)")
      case let error as HTTPClientError: CommandFailure(.unavailable, error.description)
      case let refusal as OrderRefusal:
        switch refusal.kind {
        case .invalid: CommandFailure(.usage, refusal.text)
        case .refused: CommandFailure(.refused, refusal.text)
        case .unconfigured: CommandFailure(.configuration, refusal.text)
        }
      case let refusal as any AnswerableError: CommandFailure(.refused, refusal.problem.detail)
      default: CommandFailure(.software, "an unexpected error: \(error)")
      }
  }

  private static func databaseFailure(_ error: DatabaseError) -> CommandFailure {
    switch error {
    case .busy: CommandFailure(.unavailable, "the database is busy; try again")
    case .unavailable(let reason), .uncertain(let reason):
      CommandFailure(.unavailable, "the database cannot be used: \(reason)")
    case .migration, .forbidden: CommandFailure(.configuration, error.description)
    case .constraint(let text), .statement(let text):
      CommandFailure(.software, "a statement failed: \(text)")
    }
  }
}
