internal import Base
internal import Configuration
internal import Crypto
internal import HTTPServer
internal import HTTPSignatures

extension Command {
  static let request = Command(
    words: ["request"],
    abstract: "Sends one request to coffer-sync, signed as a device signs it.",
    discussion: "For admins who want to see what a client sees. The key file is one that "
      + "account create wrote. Prints the status and the answer.",
    arguments: [
      Argument(name: "method", text: "GET, PUT, POST, DELETE …"),
      Argument(name: "target", text: "path and query, e.g. /v1/updates?since=…"),
    ],
    options: [
      Option(name: "--key-file", value: "path", text: "the device's secret seed; required"),
      Option(name: "--body", value: "path", text: "a file to send; - is standard input"),
      Option(
        name: "--sign-changes", value: nil,
        text: "the body is a batch for /v1/files without author and signatures: adds them"),
      Option(
        name: "--header", value: "name: value", text: "a further header; may be repeated",
        isRepeatable: true),
      Option(
        name: "--authority", value: "host",
        text: "the host name signed for; the first of COFFER_SYNC_AUTHORITIES without this option"
      ),
      Option(
        name: "--url", value: "url",
        text: "the server, without a path; http at COFFER_SYNC_LISTEN without this option"),
      Option(name: "--output", value: "path", text: "a new file for the answer's body"),
    ],
    run: { invocation in
      let configuration = try PeerConfiguration(invocation.settings)
      let target = invocation.argument("target")
      let method = invocation.argument("method").uppercased()
      let authority = try authority(invocation, configuration)
      guard target.hasPrefix("/"), (method + target + authority).utf8.allSatisfy(isPrintable) else {
        throw CommandFailure(.usage, "a target begins with a slash and is printable ASCII")
      }
      guard let keyPath = invocation.option("--key-file") else {
        throw CommandFailure(.usage, "request needs --key-file")
      }
      let key = try KeyFile.read(keyPath)
      let body = try body(invocation, key)
      let signer = RequestSigner(key: key, authority: authority)
      var headers = try invocation.all("--header").map(header)
      headers += signer.headers(
        method: method, target: target, body: body, created: configuration.clock.now(),
        nonce: Random.bytes(16))
      headers.append(("Host", authority))
      let base = invocation.option("--url") ?? Exchange.baseURL(configuration.syncListen)
      let exchange = try Exchange(method: method, url: base + target, headers: headers, body: body)
      if exchange.code == .ok, let path = invocation.option("--output") {
        try OutputFile.write(exchange.body, to: path)
        return Answer(
          code: .ok, text: "\(exchange.status)\n\(exchange.body.count) bytes in \(path)\n",
          json: exchange.json)
      }
      return Answer(code: exchange.code, text: exchange.text, json: exchange.json)
    })

  private static func body(
    _ invocation: Invocation, _ key: Ed25519PrivateKey
  ) throws(CommandFailure) -> [UInt8]? {
    let signsChanges = invocation.has("--sign-changes")
    guard let path = invocation.option("--body") else {
      if signsChanges { throw CommandFailure(.usage, "--sign-changes needs --body") }
      return nil
    }
    let bytes = try InputFile.bytes(at: path)
    return signsChanges ? try SignedChanges.body(bytes, by: key) : bytes
  }

  private static func isPrintable(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte }

  private static func authority(
    _ invocation: Invocation, _ configuration: PeerConfiguration
  ) throws(CommandFailure) -> String {
    if let authority = invocation.option("--authority") { return authority }
    guard let authority = configuration.authorities.first else {
      throw CommandFailure(
        .usage, "request needs --authority or \(SyncSettings.authorities.name)")
    }
    return authority
  }

  private static func header(_ text: String) throws(CommandFailure) -> (String, String) {
    guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
      throw CommandFailure(.usage, "--header takes \"name: value\"")
    }
    return (
      String(text[..<colon]), String(text[text.index(after: colon)...].drop { $0 == " " })
    )
  }
}
