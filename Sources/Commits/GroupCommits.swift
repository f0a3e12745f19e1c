package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage

/// Commits of groups: a block of a chain and the messages that tell its members of it, stored together.
package struct GroupCommits: ProtocolRoom {
  package static let name = "commits"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost

  package init(_ host: ProtocolHost) { self.host = host }

  package var routes: [Route] {
    host.routes(PostCommits(host: host), PostChainMessages(host: host))
  }

  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport { ProtocolExport() }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool { false }
}
