import Base
import CommandLine
import Configuration

/// The person who runs this command, as the audit log names them: `ada`, `ada (sudo, Unix user
/// coffer)`, `carol (Unix user deploy)`.
///
/// It is a statement, not a proof: anyone who can write to the database can write anything into it.
enum Actor {
  private static let characterCountMax = 100

  package static func name(_ settings: Settings) throws(ConfigurationError) -> String {
    let environment = Launch.environment()
    let given = try SettingsReader.read(settings) { $0.value(CommandSettings.actor) }
    let user = plain(UnixUser.name)
    let caller = environment["SUDO_USER"].map(plain)
    let sudo = caller.map { "sudo by \($0)" }
    if let given { return plain(given) + " (" + listed("Unix user \(user)", sudo) + ")" }
    if let certified = SSHCertificate.name(environment) {
      return plain(certified) + " (" + listed("SSH certificate, Unix user \(user)", sudo) + ")"
    }
    return caller.map { "\($0) (sudo, Unix user \(user))" } ?? user
  }

  private static func listed(_ first: String, _ second: String?) -> String {
    [first, second].compactMap { $0 }.joined(separator: ", ")
  }

  /// The text on one line, and short.
  private static func plain(_ text: String) -> String {
    Printable.text(String(text.prefix(characterCountMax)))
  }
}

/// The name in the certificate that opened this SSH session, if sshd provides it (ExposeAuthInfo,
/// https://man.openbsd.org/sshd_config).
private enum SSHCertificate {
  static func name(_ environment: [String: String]) -> String? {
    guard let path = environment["SSH_USER_AUTH"], let bytes = try? InputFile.bytes(at: path) else {
      return nil
    }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count >= 3, words[0] == "publickey", words[1].contains("-cert-v01@"),
        let certificate = Base64.standard.decode(String(words[2])),
        let name = keyID(certificate, type: words[1]), !name.isEmpty
      else { continue }
      return name
    }
    return nil
  }

  /// The member `key id`, which follows a nonce, the key's own members, a serial number and a type
  /// (https://cvsweb.openbsd.org/src/usr.bin/ssh/PROTOCOL.certkeys).
  private static func keyID(_ certificate: [UInt8], type: Substring) -> String? {
    guard let count = keyMemberCount(type) else { return nil }
    var rest = certificate[...]
    for _ in 0..<(2 + count) {
      guard member(&rest) != nil else { return nil }
    }
    guard rest.count >= 12 else { return nil }
    rest = rest.dropFirst(12)
    return member(&rest).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func keyMemberCount(_ type: Substring) -> Int? {
    switch type {
    case _ where type.hasPrefix("ssh-ed25519-"): 1
    case _ where type.hasPrefix("ssh-rsa-"), _ where type.hasPrefix("rsa-sha2-"): 2
    case _ where type.hasPrefix("ecdsa-sha2-"): 2
    case _ where type.hasPrefix("sk-ssh-ed25519-"): 2
    case _ where type.hasPrefix("sk-ecdsa-sha2-"): 3
    default: nil
    }
  }

  /// Bytes that follow their length, which has four bytes.
  private static func member(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard rest.count >= 4 else { return nil }
    let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(4)
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
