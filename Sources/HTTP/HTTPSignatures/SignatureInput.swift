internal import Base
internal import Crypto
internal import HTTPMessages

/// What the headers Signature-Input and Signature say, read but not yet believed.
struct SignatureInput {
  private static let nonceByteCounts = 8...64

  let list: StructuredField.InnerList
  let signature: [UInt8]
  let key: Ed25519PublicKey
  let created: Instant
  let expires: Instant
  let nonce: [UInt8]?

  /// A request has exactly one signature, under any label: with two, this server and a proxy in
  /// front of it could each believe another one.
  init(_ headers: Headers) throws(SignatureRefusal) {
    let inputField = headers.combined("signature-input")
    let signatureField = headers.combined("signature")
    guard inputField != nil || signatureField != nil else { throw .missing }
    guard let inputField, let signatureField else {
      throw .malformed("one of Signature-Input and Signature is missing")
    }
    let input = try Self.only(inputField, "Signature-Input")
    let value = try Self.only(signatureField, "Signature")
    guard input.name == value.name else { throw .malformed("the two labels differ") }
    guard case .innerList(let list) = input.member else {
      throw .malformed("Signature-Input is no list of components")
    }
    guard case .item(let item) = value.member, let signature = item.value.bytes else {
      throw .malformed("Signature is no byte sequence")
    }
    self.list = list
    self.signature = signature
    guard let algorithm = try Self.text("alg", in: list) else { throw .malformed("no alg") }
    guard algorithm == "ed25519" else { throw .unknownAlgorithm }
    guard let keyID = try Self.text("keyid", in: list) else { throw .malformed("no keyid") }
    guard let key = Self.key(keyID) else { throw .badKey }
    self.key = key
    created = try Self.time("created", in: list)
    expires = try Self.time("expires", in: list)
    nonce = try Self.text("nonce", in: list).map { Array($0.utf8) }
    if let nonce, !Self.nonceByteCounts.contains(nonce.count) {
      throw .malformed("a nonce has 8 to 64 bytes")
    }
  }

  /// Whether the signature covers a component as a whole.
  func covers(_ name: String) -> Bool {
    list.items.contains { item in
      item.value.string == name && !item.parameters.contains { $0.name == "key" }
    }
  }

  func requireComponents(of head: RequestHead) throws(SignatureRefusal) {
    var required = ["@method", "@authority", "@path", "@query"]
    if head.hasBody { required.append("content-digest") }
    let missing = required.filter { !covers($0) }
    guard missing.isEmpty else {
      let lacksField = head.headers.combined("content-digest") == nil
      if missing == ["content-digest"], lacksField { throw .digestMissing }
      throw .componentsMissing(missing)
    }
  }

  func requireTime(_ policy: SignaturePolicy, now: Instant) throws(SignatureRefusal) {
    guard created <= now + .seconds(policy.futureSkewSeconds) else { throw .notYetValid }
    guard expires > created, expires - created <= .seconds(policy.lifetimeSecondsMax) else {
      throw .lifetimeTooLong
    }
    guard now < expires else { throw .expired }
  }

  private static func only(
    _ field: [UInt8], _ name: String
  ) throws(SignatureRefusal) -> StructuredField.Entry {
    let entries: [StructuredField.Entry]
    do { entries = try StructuredFieldParser.dictionary(field) } catch {
      throw .malformed("\(name): \(error.reason) at byte \(error.byteOffset)")
    }
    guard entries.count == 1 else { throw .malformed("\(name) has not exactly one signature") }
    return entries[0]
  }

  private static func text(
    _ name: String, in list: StructuredField.InnerList
  ) throws(SignatureRefusal) -> String? {
    guard let parameter = list.parameters.first(where: { $0.name == name }) else { return nil }
    guard let text = parameter.value.string else { throw .malformed("\(name) is no string") }
    return text
  }

  private static func time(
    _ name: String, in list: StructuredField.InnerList
  ) throws(SignatureRefusal) -> Instant {
    guard let parameter = list.parameters.first(where: { $0.name == name }) else {
      throw .malformed("no \(name)")
    }
    guard let seconds = parameter.value.integer else { throw .malformed("\(name) is no integer") }
    return Instant(seconds: seconds)
  }

  /// Base64 of either alphabet; the URL alphabet with or without its padding.
  private static func key(_ text: String) -> Ed25519PublicKey? {
    let bytes =
      Base64.standard.decode(text)
      ?? Base64.url.decode(text.hasSuffix("=") ? String(text.dropLast()) : text)
    return bytes.flatMap(Ed25519PublicKey.init(bytes:))
  }
}

extension RequestHead {
  /// A body of unknown length counts: it may hold something.
  fileprivate var hasBody: Bool {
    if headers.combined("transfer-encoding") != nil { return true }
    guard headers.combined("content-length") != nil else { return false }
    return contentLength != 0
  }
}
