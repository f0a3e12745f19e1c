internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import JSON
internal import Ledger
internal import Storage
internal import Tiers

/// `GET /v1/plans`: what is sold, for whom to show it and buy it; anybody may ask.
///
/// Whoever keeps it asks each time whether it still holds: nobody buys by what was sold before.
struct GetPlans: ReadEndpoint {
  let ledger: Ledger
  /// Anybody may ask, so it is written once for each catalogue that comes to hold.
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
