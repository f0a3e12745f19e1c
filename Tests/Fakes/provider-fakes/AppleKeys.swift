import Base
import Crypto
import JSON
import ProviderFakes
import TestCertificates
import TestFiles

/// The keys of webhooks/apple: the test chain, and the key of the server API.
struct AppleKeys {
  let files: [String: [UInt8]]
  let signer: AppleSigner

  init(in folder: String) throws(RecordingError) {
    files = try Self.files(in: folder)
    guard let leaf = files["keys/leaf.der"], let intermediate = files["keys/intermediate.der"],
      let root = files["keys/root.der"], let key = files["keys/leaf.pem"],
      let signer = AppleSigner(certificates: [leaf, intermediate, root], key: Secret(key))
    else { throw RecordingError(text: "keys/ has no certificates, or no P-256 key") }
    self.signer = signer
  }

  private static let names = [
    "keys/leaf.pem", "keys/leaf.der", "keys/intermediate.der", "keys/root.der", "root.pem",
    "keys/\(apiKeyFile)",
  ]
  private static let apiKeyFile = "SubscriptionKey_\(FakeAppStore.Settings().apiKeyID).p8"

  /// The existing files; new ones if one of them is missing.
  private static func files(in folder: String) throws(RecordingError) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in names { files[name] = Files.bytes("\(folder)/\(name)") }
    if files.count == names.count { return files }
    guard files.isEmpty else { throw RecordingError(text: "some files of keys/ are missing") }
    // 2020-01-01 to 2050-01-01.
    let chain = AppleTestChain(
      notBefore: Instant(seconds: 1_577_836_800), notAfter: Instant(seconds: 2_524_608_000))
    return [
      "keys/leaf.pem": chain.leaf.key.pem.exposed, "keys/leaf.der": chain.leaf.der,
      "keys/intermediate.der": chain.intermediate.der, "keys/root.der": chain.root.der,
      "root.pem": PEM.certificate(chain.root.der),
      "keys/\(apiKeyFile)": P256PrivateKey().pem.exposed,
    ]
  }

  // MARK: comparing

  /// Whether two files differ only in signatures: ECDSA signs with random numbers.
  static func areSignedAlike(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    if a == b { return true }
    guard let unsigned = unsigned(a) else { return false }
    return unsigned == Self.unsigned(b)
  }

  /// A request's head, if it is one, and the content of the JWS in its body; nil if there is no JWS.
  private static func unsigned(_ file: [UInt8]) -> String? {
    let gap = file.firstRange(of: Array("\r\n\r\n".utf8))
    guard let json = try? JSON.parse(Array(file[(gap?.upperBound ?? 0)...])),
      let text = json["signedPayload"].string ?? json["transaction"].string
    else { return nil }
    return String(decoding: file[..<(gap?.lowerBound ?? 0)], as: UTF8.self)
      + AppleSigner.unsigned(text)
  }
}
