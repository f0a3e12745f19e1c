import Base
import JSON
import JWS
package import Stores
package import Subscriptions
import Tiers

extension AppleStore {
  package func delivered(again kept: KeptMessage) throws -> DecodedDelivery {
    let json = try JSON.parseForeign(kept.body)
    guard json["signedPayload"].exists else {
      let signed = try SignedPayload(unchecked: json["transaction"])
      let verified = VerifiedPart(
        environment: kept.environment ?? signed.environment, signed: signed)
      return DecodedDelivery(
        try AppleTransactionReading(verified), environment: verified.environment,
        signed: signed.signedDate)
    }
    let outer = try SignedPayload(unchecked: json["signedPayload"])
    let data = outer.payload["data"]
    let transaction = try SignedPayload(uncheckedOptional: data["signedTransactionInfo"])
    return DecodedDelivery(
      try AppleNotification(
        VerifiedNotification(
          body: kept.body, signedDate: outer.signedDate,
          environment: kept.environment ?? transaction?.environment ?? .live, certificate: "",
          payload: .success(outer.payload),
          transaction: transaction.map { .success($0) },
          renewal: try SignedPayload(uncheckedOptional: data["signedRenewalInfo"])
            .map { .success($0) })))
  }

  package func answered(
    again kept: KeptMessage, to key: ObjectKey, readNumber: Int64
  ) throws -> StoreAnswer {
    var answer = StoreAnswer()
    let limits = JSONLimits(byteCountMax: 1 << 30, valueCountMax: 1 << 22)
    for part in try JSON.parseForeign(kept.body, limits: limits).requireArray() {
      for group in part["answer"]["data"].array ?? [] {
        for item in group["lastTransactions"].array ?? [] {
          answer.add(try Self.status(item, key.environment))
        }
      }
      for text in part["answer"]["signedTransactions"].array ?? [] {
        var decoder = AppleDecoder(environment: key.environment)
        _ = try decoder.readTransaction(SignedPayload(unchecked: text))
        answer.add(decoder)
      }
    }
    answer.terms = []
    return answer
  }

  private static func status(
    _ item: JSON, _ environment: StoreEnvironment
  ) throws -> AppleDecoder {
    var decoder = AppleDecoder(environment: environment)
    let transaction = try SignedPayload(uncheckedOptional: item["signedTransactionInfo"])
    let renewal = try SignedPayload(uncheckedOptional: item["signedRenewalInfo"])
    let bought = try transaction.map { try decoder.readTransaction($0) }
    let renewed = try renewal.map { try decoder.readRenewal($0) }
    let dates = [transaction?.signedDate, renewal?.signedDate].compactMap { $0 }
    decoder.readStatus(
      try item["status"].requireInteger(), of: bought ?? renewed,
      asOf: dates.min() ?? .distantPast)
    return decoder
  }
}

extension SignedPayload {
  /// A payload that was verified on arrival and stored since.
  ///
  /// Warning: proves nothing about any other text.
  fileprivate init(unchecked json: JSON) throws {
    let jws = try JWSSegments(Array(json.requireString().utf8))
    let payload = try JSON.parseForeign(jws.payload, limits: AppleVerifier.payloadLimits)
      .requireObject()
    self.init(payload: payload, signedDate: try payload["signedDate"].requireInstant())
  }

  fileprivate init?(uncheckedOptional json: JSON) throws {
    guard !json.isAbsent else { return nil }
    try self.init(unchecked: json)
  }

  fileprivate var environment: StoreEnvironment {
    payload["environment"].string == "Sandbox" ? .sandbox : .live
  }
}
