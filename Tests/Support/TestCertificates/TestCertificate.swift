package import Base
package import Crypto

/// An X.509 certificate made for a test, together with its private key.
package struct TestCertificate: Sendable {
  package let der: [UInt8]
  package let key: P256PrivateKey
  fileprivate let subject: [UInt8]
  fileprivate let keyIdentifier: [UInt8]

  /// Signed by `issuer`, or by itself if there is none. Nothing is checked, so that tests can make bad
  /// certificates.
  package init(_ plan: TestCertificatePlan, issuer: TestCertificate? = nil) {
    key = plan.privateKey
    let info = plan.publicKeyInfo
    keyIdentifier = Array(SHA256.hash(info).prefix(20))
    subject = plan.subject
    let algorithm = DER.sequence(DER.object("1.2.840.10045.4.3.2"))
    let body = DER.sequence(
      DER.value(0xA0, DER.integer([2])),
      DER.integer([0x40] + Random.bytes(15)),
      algorithm,
      issuer?.subject ?? subject,
      DER.sequence(time(plan.notBefore), time(plan.notAfter)),
      subject,
      info,
      DER.value(
        0xA3,
        plan.extensions(
          keyIdentifier: keyIdentifier, issuer: issuer?.keyIdentifier ?? keyIdentifier)))
    let raw = (issuer?.key ?? key).signature(for: body)
    let signature = DER.sequence(
      DER.integer(Array(raw[..<32])), DER.integer(Array(raw[32...])))
    der = DER.sequence(body, algorithm, DER.bits(signature))
  }
}

/// UTCTime up to 2049, GeneralizedTime from then on (RFC 5280, section 4.1.2.5).
private func time(_ instant: Instant) -> [UInt8] {
  let digits = Instant(seconds: instant.seconds).description.utf8.filter {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
  }
  let zulu = [UInt8(ascii: "Z")]
  return digits.starts(with: "20".utf8) && digits[2] < UInt8(ascii: "5")
    ? DER.value(0x17, digits.dropFirst(2) + zulu) : DER.value(0x18, digits + zulu)
}

/// The content of a test certificate. Every default fits a good certificate of its level.
package struct TestCertificatePlan: Sendable {
  package var commonName: String
  package var notBefore: Instant
  package var notAfter: Instant
  /// Basic constraints and key usage of an authority, or of an end entity.
  package var isAuthority: Bool
  /// The number of authorities that may follow below.
  package var pathLength: UInt8?
  /// Unit, organization and country in addition to the common name; public authorities have them.
  package var organization: [String] = []
  /// The text of a certificate policy; nil for a certificate without policies.
  package var policyNotice: String?
  /// The address for its status; nothing answers there.
  package var statusAddress: String?
  /// Dotted names of extensions that hold a null.
  package var markers: [String] = []
  /// The dotted name of one more extension, marked critical.
  package var criticalExtension: String?
  package var keyKind = KeyKind.p256
  package var privateKey = P256PrivateKey()

  package enum KeyKind: Sendable {
    case p256
    /// Contains a P-384 key that no one should use: the curve's base point.
    case p384
    /// Contains an Ed25519 key.
    case ed25519
  }

  package init(
    commonName: String, notBefore: Instant, notAfter: Instant, isAuthority: Bool,
    pathLength: UInt8? = nil, markers: [String] = []
  ) {
    self.commonName = commonName
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.isAuthority = isAuthority
    self.pathLength = pathLength
    self.markers = markers
  }

  fileprivate var publicKeyInfo: [UInt8] {
    switch keyKind {
    case .p256:
      DER.sequence(
        DER.sequence(DER.object("1.2.840.10045.2.1"), DER.object("1.2.840.10045.3.1.7")),
        DER.bits(privateKey.publicKey.x963))
    case .p384:
      DER.sequence(
        DER.sequence(DER.object("1.2.840.10045.2.1"), DER.object("1.3.132.0.34")),
        DER.bits(Hex.decode("04" + p384BasePoint)!))
    case .ed25519:
      DER.sequence(
        DER.sequence(DER.object("1.3.101.112")), DER.bits(Ed25519PrivateKey().publicKey.bytes))
    }
  }

  fileprivate var subject: [UInt8] {
    let kinds = ["2.5.4.3", "2.5.4.11", "2.5.4.10", "2.5.4.6"]
    let names = zip(kinds, [commonName] + organization).map { kind, name in
      DER.value(0x31, DER.sequence(DER.object(kind), DER.text(name)))
    }
    return DER.sequence(names.flatMap { $0 })
  }

  fileprivate func extensions(keyIdentifier: [UInt8], issuer: [UInt8]) -> [UInt8] {
    var constraints = isAuthority ? DER.yes : []
    if let pathLength { constraints += DER.integer([pathLength]) }
    var all = [
      extended("2.5.29.19", DER.sequence(constraints), isCritical: true),
      extended("2.5.29.35", DER.sequence(DER.value(0x80, issuer))),
      extended("2.5.29.14", DER.octets(keyIdentifier)),
      // keyCertSign and cRLSign, or digitalSignature.
      extended(
        "2.5.29.15", isAuthority ? DER.bits([0x06], unused: 1) : DER.bits([0x80], unused: 7),
        isCritical: true),
    ]
    if let statusAddress {
      // Authority information access: OCSP, as a URI.
      let place = DER.sequence(
        DER.object("1.3.6.1.5.5.7.48.1"), DER.value(0x86, Array(statusAddress.utf8)))
      all.append(extended("1.3.6.1.5.5.7.1.1", DER.sequence(place)))
    }
    if let policyNotice {
      let notice = DER.sequence(
        DER.object("1.3.6.1.5.5.7.2.2"), DER.sequence(DER.text(policyNotice)))
      let policy = DER.sequence(DER.object("2.5.29.32.0"), DER.sequence(notice))
      all.append(extended("2.5.29.32", DER.sequence(policy)))
    }
    all += markers.map { extended($0, [0x05, 0x00]) }
    if let name = criticalExtension { all.append(extended(name, [0x05, 0x00], isCritical: true)) }
    return DER.value(0x30, all.flatMap { $0 })
  }

  private func extended(_ name: String, _ value: [UInt8], isCritical: Bool = false) -> [UInt8] {
    DER.sequence(DER.object(name), isCritical ? DER.yes : [], DER.octets(value))
  }
}

/// The base point of P-384 (SEC 2, section 2.5.1), both coordinates.
private let p384BasePoint =
  "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a38"
  + "5502f25dbf55296c3a545e3872760ab7"
  + "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c0"
  + "0a60b1ce1d7e819d7a431d7c90ea0e5f"
