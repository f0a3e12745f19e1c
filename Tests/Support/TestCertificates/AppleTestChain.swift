package import Base
import Crypto
package import JSON
import JWS

/// A root, an intermediate and a leaf certificate in the App Store's form, and what that leaf signs.
package struct AppleTestChain: Sendable {
  package static let intermediateMarker = "1.2.840.113635.100.6.2.1"
  package static let leafMarker = "1.2.840.113635.100.6.11.1"

  /// As long as the App Store's own, so that signed content has the same size.
  private static let organization = ["Coffer Test Certification Authority", "Coffer Inc.", "US"]
  private static let notice =
    "This certificate was made for Coffer's own tests and says nothing about anybody. Nobody may "
    + "rely on it, no program outside of those tests may trust it, and whoever finds it elsewhere "
    + "should throw it away, together with everything that it signed, and tell us where it was."

  package let root: TestCertificate
  package let intermediate: TestCertificate
  package let leaf: TestCertificate

  /// The certificates' plans, which a test can spoil before they are issued.
  package struct Plans: Sendable {
    package var root: TestCertificatePlan
    package var intermediate: TestCertificatePlan
    package var leaf: TestCertificatePlan
  }

  /// Creates a chain. `given` replaces the new root, so that chains can share one.
  package init(
    notBefore: Instant, notAfter: Instant, root given: TestCertificate? = nil,
    _ spoil: (inout Plans) -> Void = { _ in }
  ) {
    var plans = Plans(
      root: TestCertificatePlan(
        commonName: "Coffer Test Root CA - G3", notBefore: notBefore, notAfter: notAfter,
        isAuthority: true),
      intermediate: TestCertificatePlan(
        commonName: "Coffer Test Worldwide Developer Certification Authority", notBefore: notBefore,
        notAfter: notAfter,
        isAuthority: true, pathLength: 0, markers: [Self.intermediateMarker]),
      leaf: TestCertificatePlan(
        commonName: "Test ECC App Store and Receipt Signing", notBefore: notBefore,
        notAfter: notAfter,
        isAuthority: false, markers: [Self.leafMarker]))
    plans.root.organization = Self.organization
    plans.intermediate.organization = ["Test Unit 6"] + Self.organization.dropFirst()
    plans.leaf.organization = Self.organization
    plans.leaf.policyNotice = Self.notice
    plans.intermediate.statusAddress = "http://ocsp.coffer.example/ocsp03-testrootca"
    plans.leaf.statusAddress = "http://ocsp.coffer.example/ocsp03-testintermediate06"
    spoil(&plans)
    root = given ?? TestCertificate(plans.root)
    intermediate = TestCertificate(plans.intermediate, issuer: root)
    leaf = TestCertificate(plans.leaf, issuer: intermediate)
  }

  /// The header's certificates: standard base64, leaf first.
  package var x5c: [String] {
    [leaf, intermediate, root].map { Base64.standard.encode($0.der) }
  }

  /// The header of everything that this chain signs.
  package var header: JSONValue {
    ["alg": "ES256", "x5c": .array(x5c.map { .string($0) })]
  }

  /// A compact JWS in the App Store's form.
  package func sign(_ payload: JSONValue) -> String { sign(payload.encoded()) }

  package func sign(_ payload: [UInt8]) -> String {
    CompactJWS.compact(header: header, payload: payload, sign: leaf.key.signature)
  }
}
