import Base
import Endpoints
import HTTPMessages
import JSON
import Ledger
import Storage
import Tiers

/// `GET /v1/plans`: what is sold, for clients that show it or buy it. Anyone may ask.
///
/// Caches must revalidate it each time, so that no one buys by an outdated list.
struct GetPlans: ReadEndpoint {
  let ledger: Ledger
  /// Encoded once for each catalogue that comes into force, because anyone may ask.
  private let written = Locked<(catalogue: Catalogue, document: PublicDocument)?>(nil)
  let method = "GET"
  let pattern = "/v1/plans"
  let bodyByteCountMax = 0
  let isLong = false

  init(ledger: Ledger) { self.ledger = ledger }

  func admit(_ head: RequestHead, _ captures: [Substring]) -> RequestHead { head }

  func lane(_ head: RequestHead) -> Identifier? { nil }

  func prepare(_ head: RequestHead, _ body: [UInt8]) -> RequestHead { head }

  func read(_ reader: Reader, _ head: RequestHead) throws -> PublicDocument {
    let catalogue = try ledger.catalogue(reading: reader)
    if let known = written.withLock({ $0 }), known.catalogue == catalogue { return known.document }
    let document = PublicDocument(catalogue.plansDocument.encoded())
    written.withLock { $0 = (catalogue, document) }
    return document
  }

  func respond(_ document: PublicDocument, to head: RequestHead) throws -> Response {
    try document.response(to: head, caching: "public, no-cache")
  }
}
