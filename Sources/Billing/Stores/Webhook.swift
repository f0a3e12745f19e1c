package import Base
package import HTTPMessages
package import HTTPServer

/// How a store's deliveries are proven and read.
package struct Webhook: Sendable {
  /// Proves the sender, as far as the headers did not, and reads what was sent.
  package typealias Preparation = @Sendable ([UInt8], Instant) throws -> Delivery

  package let bodyByteCountMax: Int
  /// Whether proving a sender takes public-key arithmetic, so that forgers are made to wait. An HMAC
  /// costs less than telling them so, and whoever shares an address with them is heard.
  package let isDear: Bool
  /// What proves its deliveries and was agreed beforehand, as `Delivery.proof` names it: of a
  /// webhook's secrets each.
  package let proofs: [String]
  /// Refuses by the headers alone what no body can make genuine; may wait, without a thread, for
  /// what the proof needs. What it throws, and what `Preparation` does, is a `WebhookRefusal`.
  package let admit: @Sendable (RequestHead, Instant) throws -> Step<Preparation>

  package init(
    bodyByteCountMax: Int, isDear: Bool, proofs: [String] = [],
    admit: @escaping @Sendable (RequestHead, Instant) throws -> Step<Preparation>
  ) {
    self.bodyByteCountMax = bodyByteCountMax
    self.isDear = isDear
    self.proofs = proofs
    self.admit = admit
  }
}

extension Webhook {
  /// How the proof by a secret is named, which gives nothing away.
  package static func proof(bySecret digest: String) -> String {
    "signed with the secret \(digest)"
  }
}

/// A genuine delivery: what it says, or why it cannot be read.
package struct Delivery: Sendable {
  package enum Content: Sendable {
    case decoded(DecodedDelivery)
    /// `id` and `type` are the delivery's where they can be read. `requests` ask for what it names all
    /// the same: its store may send it once and tell again only who asks.
    case undecodable(id: String?, type: String?, why: String, requests: [ReadRequest])
  }

  package let content: Content
  /// Of its headers, what proved it: kept beside the body.
  package let head: [UInt8]
  /// Which secret or key proved it, in a few words that give nothing away.
  package let proof: String

  package init(_ content: Content, head: [UInt8] = [], proof: String) {
    self.content = content
    self.head = head
    self.proof = proof
  }
}

extension Delivery {
  /// The same, kept as one that cannot be read.
  package func unread(because why: String) -> Delivery {
    guard case .decoded(let decoded) = content else { return self }
    return Delivery(
      .undecodable(id: decoded.deliveryID, type: decoded.type, why: why, requests: []), head: head,
      proof: proof)
  }
}

/// Why a delivery is not taken.
package struct WebhookRefusal: Error {
  /// Of a small set, whatever was delivered: it labels a counter.
  package let reason: String
  /// Whether nothing genuine stands behind it, so that its sender is made to wait.
  package let isForgery: Bool
  package let problem: Problem

  package init(reason: String, isForgery: Bool, problem: Problem) {
    self.reason = reason
    self.isForgery = isForgery
    self.problem = problem
  }
}
