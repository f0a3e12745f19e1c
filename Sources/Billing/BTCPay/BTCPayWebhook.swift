import Base
import HTTPMessages
import HTTPServer
import JSON
package import Stores
import Subscriptions
import Tiers

extension Webhook {
  /// The server signs the whole body, so a delivery without a signature is refused unread.
  init(btcpay secrets: BTCPaySecrets, store: String) {
    self.init(
      // A delivery has about a kilobyte, but the shop decides on its metadata.
      bodyByteCountMax: 256 << 10, isDear: false,
      proofs: secrets.digests.map { Self.proof(bySecret: $0) },
      admit: { head, _ in
        let signatures = head.headers.all("btcpay-sig")
        if signatures.isEmpty { throw WebhookRefusal(.missingHeader) }
        return .ready { body, _ in
          do throws(BTCPayRefusal) {
            return Delivery(try secrets.verify(headers: signatures, body: body), store: store)
          } catch {
            throw WebhookRefusal(error)
          }
        }
      })
  }
}

extension Delivery {
  fileprivate init(_ delivery: BTCPayDelivery, store: String) {
    let json = { try? JSON.parseForeign(delivery.body) }
    let content = Content(
      type: try? json()?["type"].requireID(),
      requests: json().map { BTCPayEvent.requests(naming: $0, store: store) } ?? []
    ) { () throws(UndecodableDelivery) in
      DecodedDelivery(try BTCPayEvent(delivery, store: store))
    }
    self.init(
      content, head: Array("BTCPay-Sig: ".utf8) + delivery.signature,
      proof: Webhook.proof(bySecret: delivery.secret))
  }
}

extension DecodedDelivery {
  /// A reason to read what the account prepaid, and when an invoice settled.
  package init(_ event: BTCPayEvent) {
    let prepaid = event.account.map { ObjectKey(.prepaid, $0.description) }
    var facts: [Fact] = []
    if !event.isForeign, let invoice = event.invoice, let settlement = event.settlement {
      facts = [settlement.fact(invoice: invoice)]
    }
    self.init(
      provider: .btcpay, environment: .live, deliveryID: event.id, type: event.type,
      object: event.invoice, created: event.created, facts: facts,
      requests: event.isForeign ? [] : prepaid.map { [ReadRequest($0, reason: event.type)] } ?? [],
      terms: event.isForeign ? [] : event.terms,
      notes: event.isForeign ? [] : Set(event.notes.map(\.rawValue)),
      disposition: event.isForeign ? .foreign : facts.isEmpty ? .recorded : .joined,
      meaning: [
        "type": .string(event.type), "created": .integer(event.created.milliseconds),
        "object": event.invoice.map { .string($0) } ?? .null,
        "account": event.account.map { .string($0.description) } ?? .null,
      ])
  }
}

extension WebhookRefusal {
  /// The answer is the same for every reason, so a forger learns nothing from it.
  fileprivate init(_ refusal: BTCPayRefusal) {
    self.init(
      reason: refusal.rawValue, isForgery: true,
      problem: Problem(
        401, "signature_refused", "Signature refused",
        "The BTCPay-Sig header does not prove that the BTCPay server sent this body."))
  }
}
