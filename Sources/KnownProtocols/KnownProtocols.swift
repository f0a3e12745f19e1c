package import Accounts
import Chains
import Commits
import Documents
import KeyBackup
import Logs
import Mailboxes
import PublicLinks
import Sync

/// The protocols that coffer-sync serves.
package enum KnownProtocols {
  /// The only list of protocols. A protocol is added by its line here.
  package static let all: [any ProtocolRoom.Type] = [
    FileTrees.self, MessageLogs.self, ActualDoor.self, VersionedDocuments.self,
    DeviceMailboxes.self, SignatureChains.self, GroupCommits.self,
    PublishedContents.self, KeyRecovery.self,
  ]
}
