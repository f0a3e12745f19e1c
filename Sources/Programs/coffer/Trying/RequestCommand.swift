import Acts
import Base
import CommandLine
import Configuration
import Crypto
import HTTPSignatures

extension Command {
  private static let method = Parameter<String>.required(
    "method", text: "GET, PUT, POST, DELETE …", .printable)
  private static let target = Parameter<String>.required(
    "target", text: "path and query, e.g. /v1/updates?since=…", .target)
  private static let keyFile = Parameter<String>.required(
    "--key-file", "path", text: "file with the device's secret seed", .path)
  private static let body = Parameter<String?>.optional(
    "--body", "path", text: "file to send; - is stdin", .path)
  private static let signChanges = Parameter<Bool>.flag(
    "--sign-changes", text: "add author and signatures to a batch for /v1/files")
  private static let header = Parameter<[Header]>.repeatable(
    "--header", "name: value", text: "additional header; can be repeated",
    Form { text in
      guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return nil }
      return Header(
        name: String(text[..<colon]),
        value: String(text[text.index(after: colon)...].drop { $0 == " " }))
    } refusal: {
      "\($1) takes \"name: value\""
    })
  private static let authority = Parameter<String?>.optional(
    "--authority", "host", text: "host name to sign (default: first of COFFER_SYNC_AUTHORITIES)",
    .printable)
  private static let url = Parameter<String?>.optional(
    "--url", "url", text: "server URL without a path (default: http at COFFER_SYNC_LISTEN)", .text)
  private static let output = Parameter<String?>.optional(
    "--output", "path", text: "new file for the response body", .path)

  private static let resumable = Parameter<Bool>.flag(
    "--resumable", text: "send the file of --body in parts; the same command continues")

  static let request = Command(
    words: ["request"],
    abstract: "Send one signed request to coffer-sync, as a device does",
    discussion: """
      Use it to see what a client sees. coffer account create writes the key file. The response body goes to stdout, the status to stderr. The events of /v1/updates/stream are printed as they come. For coffer-billing give --url and --authority, one of COFFER_BILLING_AUTHORITIES: \
      it accepts no signature for another host. With --resumable the file's upload survives a broken connection. \
      Its URL is kept in <file>.upload until it has ended.
      """,
    examples: [
      "coffer request GET /v1/account --key-file ada.key",
      "coffer request PUT /v1/files/$id/content --key-file ada.key --header 'If-Match: \"0\"' --body film.mp4 --resumable",
    ],
    arguments: [method, target],
    options: [keyFile, body, signChanges, header, authority, url, output, resumable],
    answers: Exchange.listing.item,
    run: { invocation in
      let configuration = try PeerConfiguration(invocation.settings)
      let (method, target) = (invocation[method].uppercased(), invocation[target])
      let authority = try chosenAuthority(invocation, configuration)
      let key = try KeyFile.read(invocation[keyFile])
      let base = invocation[url] ?? Exchange.baseURL(configuration.syncListen)
      if invocation[resumable] {
        guard method == "PUT", let path = invocation[body], path != "-", !invocation[signChanges]
        else {
          throw CommandFailure(.usage, "--resumable needs PUT and --body with a file")
        }
        return try ResumableRequest(
          path, to: target, at: base, authority: authority, key: key,
          headers: invocation[header].map { ($0.name, $0.value) },
          now: { configuration.clock.now() }
        ).send().answer()
      }
      let body = try bodyBytes(invocation, key)
      let signer = RequestSigner(key: key, authority: authority)
      var headers = invocation[header].map { ($0.name, $0.value) }
      headers += signer.headers(
        method: method, target: target, body: body, created: configuration.clock.now(),
        nonce: Random.bytes(16))
      headers.append(("Host", authority))
      let isPrinted = !invocation[CommonOptions.json] && invocation[output] == nil
      if method == "GET", target == "/v1/updates/stream", body == nil, isPrinted {
        return try followed(base + target, headers)
      }
      let exchange = try Exchange(method: method, url: base + target, headers: headers, body: body)
      if exchange.code == .ok, let path = invocation[output] {
        try OutputFile.write(exchange.body, to: path)
        return exchange.answer(showing: "\(exchange.body.count) bytes in \(path)\n")
      }
      return exchange.answer()
    })

  /// Prints events as they arrive, until the server ends them.
  private static func followed(_ url: String, _ headers: [(String, String)]) throws -> Answer {
    var failure: CommandFailure?
    let exchange = try Exchange(following: url, headers: headers) { part in
      do throws(CommandFailure) {
        return try StandardOutput.writeOn(String(decoding: part, as: UTF8.self))
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    return exchange.answer()
  }

  private static func bodyBytes(
    _ invocation: Invocation, _ key: Ed25519PrivateKey
  ) throws(CommandFailure) -> [UInt8]? {
    let signsChanges = invocation[signChanges]
    guard let path = invocation[body] else {
      if signsChanges { throw CommandFailure(.usage, "--sign-changes needs --body") }
      return nil
    }
    let bytes = try InputFile.bytes(at: path)
    return signsChanges ? try SignedChanges.body(bytes, by: key) : bytes
  }

  private static func chosenAuthority(
    _ invocation: Invocation, _ configuration: PeerConfiguration
  ) throws(CommandFailure) -> String {
    if let authority = invocation[authority] { return authority }
    guard let authority = configuration.authorities.first else {
      throw CommandFailure(.usage, "request needs --authority or \(SyncSettings.authorities.name)")
    }
    return authority
  }
}

extension Form where Value == String {
  /// The characters allowed in a request's first line and in its signature.
  fileprivate static var printable: Form {
    ascii { _ in true }
  }

  fileprivate static var target: Form {
    ascii { $0.hasPrefix("/") }
  }

  private static func ascii(_ isValid: @escaping @Sendable (String) -> Bool) -> Form {
    Form {
      isPrintable($0) && isValid($0) ? $0 : nil
    } refusal: { _, _ in
      "a target begins with a slash and is printable ASCII"
    }
  }
}

private struct Header: Sendable {
  let name: String
  let value: String
}
