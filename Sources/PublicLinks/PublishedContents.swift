package import Accounts
package import Archive
package import Base
package import HTTPServer
package import Storage

/// The protocol of public links: ciphertext that an account publishes for whoever has its URL.
package struct PublishedContents: ProtocolRoom {
  package static let name = "links"
  package static let remedy = "coffer usage recount --all"

  private let host: ProtocolHost
  private let link: PutPublicLink

  package init(_ host: ProtocolHost) {
    self.host = host
    link = PutPublicLink(host: host)
  }

  package var routes: [Route] {
    host.routes(
      GetPublicLinks(host: host), DeletePublicLink(host: host),
      PostLinkToken(host: host)) + GetPublishedContent(host: host).routes
  }

  package var contents: [any ContentPut] { [link] }

  package var upkeep: [Upkeep] {
    [
      host.upkeep(LinkPurge.queue, of: "public_links", by: "owner_id", at: "expires_ms") {
        try LinkPurge.sweep($0, $1, host: host, now: $2)
      }
    ]
  }

  package static func erase(
    _ account: Identifier, in transaction: Transaction, now: Instant
  ) throws -> Bool {
    try transaction.eraseContents(
      of: "public_links", by: "owner_id, id", of: account, now: now)
  }

  /// Writes nothing: a link's URL names this server, so it ends here. It says how many are left behind.
  package static func export(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    ProtocolExport(left: [
      (
        "public_links_left", try PublicLink.weight(reader, of: account).recordCount,
        "public links, whose URLs name this server"
      )
    ])
  }

  package static func weights(
    of account: Identifier, reading queryable: some Queryable
  ) throws -> [String: UsageWeight] {
    let weight = try PublicLink.weight(queryable, of: account)
    return weight.recordCount == 0 ? [:] : ["public_link": weight]
  }
}
