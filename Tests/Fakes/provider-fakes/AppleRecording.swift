import Base
import Crypto
import JSON
import ProviderFakes
import TestCertificates

/// The stories of webhooks/apple, signed with the keys that are kept beside them.
///
/// ECDSA signs with random numbers: what is there and says the same is left as it is.
enum AppleRecording {
  static func make(in folder: String) throws(RecordingError) -> Recording {
    var files = try keys(in: folder)
    guard let leaf = files["keys/leaf.der"], let intermediate = files["keys/intermediate.der"],
      let root = files["keys/root.der"], let key = files["keys/leaf.pem"],
      let signer = AppleSigner(certificates: [leaf, intermediate, root], key: Secret(key))
    else { throw RecordingError(text: "keys/ has no certificates, or no P-256 key") }
    for story in AppleStory.all {
      let telling = story.tell(signer: signer)
      for (name, bytes) in telling.files {
        let path = "\(story.name)/\(name)"
        let present = Recording.bytes(of: "\(folder)/\(path)")
        files[path] = present.flatMap { saysTheSame($0, bytes) ? $0 : nil } ?? bytes
      }
      files["\(story.name)/story.json"] = telling.storyFile(title: story.title)
    }
    return Recording(folder: folder, files: files)
  }

  private static let names = [
    "keys/leaf.pem", "keys/leaf.der", "keys/intermediate.der", "keys/root.der", "root.pem",
    "keys/\(apiKeyFile)",
  ]
  private static let apiKeyFile = "SubscriptionKey_\(FakeAppStore.Settings().apiKeyID).p8"

  /// Those that are there; new ones where one of them is missing.
  private static func keys(in folder: String) throws(RecordingError) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in names { files[name] = Recording.bytes(of: "\(folder)/\(name)") }
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

  /// Whether two files differ in signatures alone.
  private static func saysTheSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a == b || unsigned(a) == unsigned(b)
  }

  /// A request's head and what its body says, or a transaction.
  private static func unsigned(_ file: [UInt8]) -> String {
    let text = String(decoding: file, as: UTF8.self)
    guard let body = file.firstRange(of: Array("\r\n\r\n".utf8)),
      let json = try? JSON.parse(Array(file[body.upperBound...])),
      let payload = json["signedPayload"].string
    else { return AppleSigner.unsigned(text) }
    return String(decoding: file[..<body.lowerBound], as: UTF8.self)
      + AppleSigner.unsigned(payload)
  }
}
