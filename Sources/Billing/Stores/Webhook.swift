package import Base
package import HTTPMessages
package import HTTPServer
package import JSON

/// How a store's deliveries are verified and read.
package struct Webhook: Sendable {
  /// Verifies the sender, as far as the headers did not, and reads the body.
  package typealias Preparation = @Sendable ([UInt8], Instant) throws -> Delivery

  package let bodyByteCountMax: Int
  /// Whether verifying a sender takes public-key arithmetic, so that forgers must wait. An HMAC costs less than
  /// refusing them.
  package let isDear: Bool
  /// The proofs agreed in advance, as `Delivery.proof` names them: one for each of a webhook's secrets.
  package let proofs: [String]
  /// Refuses by the headers alone what no body can make genuine, and may wait, without a thread, for what the proof
  /// needs. It and `Preparation` throw a `WebhookRefusal`.
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
  /// The name of the proof by a secret. It does not reveal the secret.
  package static func proof(bySecret digest: String) -> String {
    "signed with the secret \(digest)"
  }
}

/// A genuine delivery: its content, or why it cannot be read.
package struct Delivery: Sendable {
  package enum Content: Sendable {
    case decoded(DecodedDelivery)
    /// `id` and `type` are the delivery's, if they can be read. `requests` ask for the objects that it names
    /// nevertheless.
    case undecodable(id: String?, type: String?, why: String, requests: [ReadRequest])
  }

  package let content: Content
  /// The headers that verified it, stored with the body.
  package let head: [UInt8]
  /// The secret or key that verified it, in a few words that do not reveal it.
  package let proof: String

  package init(_ content: Content, head: [UInt8] = [], proof: String) {
    self.content = content
    self.head = head
    self.proof = proof
  }
}

extension Delivery.Content {
  /// The delivery as decoded. If it cannot be decoded, `type` and `requests` are read from it.
  package init(
    type: @autoclosure () -> String?, requests: @autoclosure () -> [ReadRequest],
    decoding decode: () throws(UndecodableDelivery) -> DecodedDelivery
  ) {
    do throws(UndecodableDelivery) { self = .decoded(try decode()) } catch {
      self = .undecodable(id: error.id, type: type(), why: "\(error)", requests: requests())
    }
  }
}

/// Why a genuine delivery cannot be read. It is recorded all the same. `id` is set if it can be read.
package struct UndecodableDelivery: Error, Equatable, Sendable, CustomStringConvertible {
  package let id: String?
  package let error: JSONError

  package init(id: String?, _ error: JSONError) {
    self.id = id
    self.error = error
  }

  package var description: String { error.description }
}

extension Delivery {
  /// The same delivery, stored as one that cannot be read.
  package func unread(because why: String) -> Delivery {
    guard case .decoded(let decoded) = content else { return self }
    return Delivery(
      .undecodable(id: decoded.deliveryID, type: decoded.type, why: why, requests: []), head: head,
      proof: proof)
  }
}

/// Why a delivery is refused.
package struct WebhookRefusal: Error {
  /// One of a small set, whatever was delivered, because it labels a counter.
  package let reason: String
  /// Whether nothing about it is genuine, so that its sender must wait.
  package let isForgery: Bool
  package let problem: Problem

  package init(reason: String, isForgery: Bool, problem: Problem) {
    self.reason = reason
    self.isForgery = isForgery
    self.problem = problem
  }
}
