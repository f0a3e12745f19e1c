import Base
import Crypto
import HTTPMessages

/// The content of the headers Signature-Input and Signature, read but not yet verified.
struct SignatureInput {
  private static let nonceByteCounts = 8...64
  private static let countMax = 8
  /// Distinguishes a client's signature from a proxy's of the same shape.
  private static let clientLabel = "coffer"

  let list: StructuredField.InnerList
  let signature: [UInt8]
  let key: Ed25519PublicKey
  let created: Instant
  let expires: Instant
  let nonce: [UInt8]?

  /// Finds the client's signature among others: a proxy may sign what it forwards.
  init(_ head: RequestHead) throws(SignatureRefusal) {
    let inputField = head.headers.combined("signature-input")
    let signatureField = head.headers.combined("signature")
    guard inputField != nil || signatureField != nil else { throw .missing }
    guard let inputField, let signatureField else {
      throw .malformed("one of Signature-Input and Signature is missing")
    }
    let inputs = try Self.entries(inputField, "Signature-Input")
    let values = try Self.entries(signatureField, "Signature")
    guard Set(inputs.map(\.name)) == Set(values.map(\.name)) else {
      throw .malformed("the two do not have the same labels")
    }
    let input = try Self.client(of: inputs, head)
    guard case .innerList(let list) = input.member else {
      throw .malformed("Signature-Input is no list of components")
    }
    guard case .item(let item)? = values.first(where: { $0.name == input.name })?.member,
      let signature = item.value.bytes
    else { throw .malformed("Signature is no byte sequence") }
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
    if let nonce, !Self.nonceByteCounts.contains(nonce.count) { throw .nonceMissing }
  }

  func covers(_ name: String) -> Bool { Self.covers(name, list) }

  func requireComponents(of head: RequestHead) throws(SignatureRefusal) {
    let missing = Self.missing(in: list, of: head)
    guard missing.isEmpty else {
      let lacksField = head.headers.combined("content-digest") == nil
      if missing == ["content-digest"], lacksField { throw .digestMissing }
      throw .componentsMissing(missing)
    }
  }

  static func covers(_ name: String, _ list: StructuredField.InnerList) -> Bool {
    list.items.contains { item in
      item.value.string == name && !item.parameters.contains { $0.name == "key" }
    }
  }

  /// The components that a client's signature must cover and this one does not.
  private static func missing(
    in list: StructuredField.InnerList, of head: RequestHead
  ) -> [String] {
    var required = ["@method", "@authority", "@path", "@query"]
    if head.hasBody { required.append("content-digest") }
    return required.filter { !covers($0, list) }
  }

  func requireTime(now: Instant) throws(SignatureRefusal) {
    guard created <= now + .seconds(SignaturePolicy.futureSkewSeconds) else { throw .notYetValid }
    let lifetimeMax = Instant.Span.seconds(SignaturePolicy.lifetimeSecondsMax)
    guard expires > created, expires - created <= lifetimeMax else { throw .lifetimeTooLong }
    guard now < expires else { throw .expired }
  }

  private static func entries(
    _ field: [UInt8], _ name: String
  ) throws(SignatureRefusal) -> [StructuredField.Entry] {
    let entries: [StructuredField.Entry]
    do { entries = try StructuredFieldParser.dictionary(field) } catch {
      throw .malformed("\(name): \(error.reason) at byte \(error.byteOffset)")
    }
    guard 1...countMax ~= entries.count else {
      throw .malformed("\(name) has no signature or more than \(countMax)")
    }
    return entries
  }

  /// Finds the client's signature among several: the only one by a device's key. If there are
  /// several of those, it is the only one that covers what a client's must. Otherwise it is the one
  /// with the label that is reserved for clients.
  ///
  /// If several remain, none is accepted: this server and a proxy in front of it could each trust a different one.
  private static func client(
    of inputs: [StructuredField.Entry], _ head: RequestHead
  ) throws(SignatureRefusal) -> StructuredField.Entry {
    if inputs.count == 1 { return inputs[0] }
    let possible = inputs.compactMap { entry -> (StructuredField.Entry, isWhole: Bool)? in
      guard case .innerList(let list) = entry.member, isDevices(list) else { return nil }
      return (entry, missing(in: list, of: head).isEmpty)
    }
    if possible.count == 1 { return possible[0].0 }
    let whole = possible.filter(\.isWhole).map(\.0)
    if whole.count == 1 { return whole[0] }
    guard let named = possible.map(\.0).first(where: { $0.name == clientLabel }) else {
      throw .malformed("of several signatures none or more than one is by a device's key")
    }
    return named
  }

  private static func isDevices(_ list: StructuredField.InnerList) -> Bool {
    func text(_ name: String) -> String? {
      list.parameters.first { $0.name == name }?.value.string
    }
    return text("alg") == "ed25519" && text("keyid").flatMap(key) != nil
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

  /// Base64 in either alphabet; in the URL alphabet with or without padding.
  private static func key(_ text: String) -> Ed25519PublicKey? {
    let bytes =
      Base64.standard.decode(text)
      ?? Base64.url.decode(text.hasSuffix("=") ? String(text.dropLast()) : text)
    return bytes.flatMap(Ed25519PublicKey.init(bytes:))
  }
}

extension RequestHead {
  /// A body of unknown length counts, because it may not be empty.
  fileprivate var hasBody: Bool {
    if headers.combined("transfer-encoding") != nil { return true }
    guard headers.combined("content-length") != nil else { return false }
    return contentLength != 0
  }
}
