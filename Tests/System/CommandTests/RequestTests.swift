import Glibc
import HTTPMessages
import HTTPServer
import LocalServer
import TestEngines
import TestFiles
import Testing

struct RequestTests: CommandSuite {
  private let scratch: ScratchDirectory
  let environment: [String: String]
  private let sync: Running

  init() throws {
    scratch = try ScratchDirectory()
    let port = Ports.free()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_OBJECTS": "file://\(scratch.path)/objects",
      "COFFER_SYNC_LISTEN": "127.0.0.1:\(port)",
      "COFFER_SYNC_AUTHORITIES": "sync.example",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
    ]
    sync = try Running("coffer-sync", environment: environment, port: port)
  }

  private var keyFile: String { scratch.path + "/device.key" }

  private func createAccount() throws {
    let created = try coffer("account", "create", "--username", "ada", "--key-file", keyFile)
    #expect(created.code == 0)
  }

  @Test func `the server knows the device that the command line made`() throws {
    try createAccount()
    let answer = try coffer("request", "get", "/v1/account", "--key-file", keyFile)
    #expect(answer.code == 0)
    #expect(answer.errors == "coffer: HTTP 200\n")
    #expect(answer.out.hasPrefix("{"))
    #expect(answer.out.contains("\"username\":\"ada\""))
  }

  @Test func `a request that has no body says so`() throws {
    try createAccount()
    let answer = try coffer("request", "POST", "/v1/sessions", "--key-file", keyFile)
    #expect(answer.errors == "coffer: HTTP 201\n", "\(answer.out)")
  }

  private static let document = "0b5c0a2e-0000-4000-8000-000000000003"

  /// A batch that creates a document, without author and signature.
  private func creation() throws -> String {
    let shown = try coffer("account", "show", "ada", "--json").out
    let root = try #require(shown.firstMatch(of: /"root":"([^"]*)"/)?.1)
    let account = try #require(shown.firstMatch(of: /"account":"([^"]*)"/)?.1)
    return try scratch.write(
      """
      {"files": [{"expect": "new", "file": {
        "id": "\(Self.document)", "owner": "\(account)", "parent": "\(root)",
        "type": "document", "key": "AAEC", "deleted": false,
        "name": {"ciphertext": "AAEC", "hmac": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}}}]}
      """, to: "changes.json")
  }

  @Test func `changes written by hand are signed and taken`() throws {
    try createAccount()
    let created = try coffer(
      "request", "POST", "/v1/files", "--sign-changes", "--body", creation(), "--key-file", keyFile)
    #expect(created.code == 0, "\(created.out)")
    #expect(created.out.contains(Self.document))
    let seen = try coffer("request", "GET", "/v1/files/\(Self.document)", "--key-file", keyFile)
    #expect(seen.out.contains(#""signature":""#))
  }

  @Test func `changes without a signature are refused`() throws {
    try createAccount()
    let created = try coffer(
      "request", "POST", "/v1/files", "--body", creation(), "--key-file", keyFile)
    #expect(created.code == 1)
    #expect(created.out.contains("body_invalid"))
  }

  @Test(arguments: [
    ("[]", "the body of --sign-changes: $ must be an object"),
    (#"{"files": 1}"#, "the body of --sign-changes: $.files must be an array"),
    (#"{"file": []}"#, "the body of --sign-changes: $.file is neither files nor shares"),
    (
      #"{"files": [{"file": {}, "signature": ""}]}"#,
      "the body of --sign-changes: $.files[0].signature is what --sign-changes adds"
    ),
    (
      #"{"shares": [{"share": {"n": 9007199254740993}}]}"#,
      "the body of --sign-changes: $.shares[0] must be an object with a share, without numbers"
    ),
  ])
  func `changes that cannot be signed are code 64`(body: String, complaint: String) throws {
    try createAccount()
    let path = try scratch.write(body, to: "changes.json")
    let answer = try coffer(
      "request", "POST", "/v1/files", "--sign-changes", "--body", path, "--key-file", keyFile)
    #expect(answer.code == 64)
    #expect(answer.errors == "coffer: \(complaint)\n")
  }

  @Test func `a body travels with its digest and an answer lands in a file`() throws {
    try createAccount()
    let created = try coffer(
      "request", "POST", "/v1/files", "--sign-changes", "--body", creation(), "--key-file", keyFile)
    #expect(created.code == 0, "\(created.out)")
    let id = Self.document
    let content = try scratch.write("sealed", to: "content")
    let written = try coffer(
      "request", "PUT", "/v1/files/\(id)/content", "--body", content, "--key-file", keyFile,
      "--header", "If-Match: *")
    #expect(written.code == 0, "\(written.out)")
    let output = scratch.path + "/back"
    let read = try coffer(
      "request", "GET", "/v1/files/\(id)/content", "--output", output, "--key-file", keyFile)
    #expect(read.code == 0)
    #expect(Files.text(output) == "sealed")
  }

  @Test(arguments: [nil, "-9223372036854775808"] as [String?])
  func `an upload of which the server does not report its part is given up`(part: String?) throws {
    try createAccount()
    func route(
      _ method: String, _ path: String, _ status: Int, _ headers: [(name: String, value: String)]
    ) -> Route {
      Route(method, path) { _, _ in
        .ready(
          Admission(body: .none) { _ in
            .ready(Response(status: status, headers: headers, body: .bytes([])))
          })
      }
    }
    let server = try startServer([
      route("PUT", "/content", 201, [(name: "Location", value: "/upload")]),
      route("GET", "/upload", 200, part.map { [(name: "Upload-Offset", value: $0)] } ?? []),
    ])
    let content = try scratch.write("sealed", to: "content")
    let answer = try withExtendedLifetime(server) {
      try coffer(
        "request", "PUT", "/content", "--url", "http://127.0.0.1:\(server.port)", "--body", content,
        "--resumable", "--key-file", keyFile)
    }
    #expect(answer.code == 1)
    #expect(answer.errors.contains("Upload-Offset"), "\(answer.errors)")
  }

  @Test func `an event is printed while the stream goes on`() throws {
    try createAccount()
    let out = scratch.path + "/events"
    let child = try Finished.start(
      Binaries.directory + "/coffer",
      ["request", "GET", "/v1/updates/stream", "--key-file", keyFile], environment, out: out,
      errors: scratch.path + "/errors")
    func hasCome() -> Bool { Files.text(out)?.contains("event: pull\n") == true }
    for _ in 0..<1200 where !hasCome() { usleep(50_000) }
    #expect(hasCome())
    kill(child, SIGKILL)
    #expect(try Finished.code(of: child) == 128 + SIGKILL)
  }

  @Test func `a stream that the server refuses is a refusal as any other`() throws {
    try createAccount()
    let answer = try coffer(
      "request", "GET", "/v1/updates/stream", "--key-file", keyFile, "--authority", "other.example")
    #expect(answer.code == 1)
    #expect(answer.errors == "coffer: HTTP 401\n")
    #expect(answer.out.hasPrefix("{"))
  }

  @Test func `a refusal is printed and is code 1`() throws {
    try createAccount()
    let answer = try coffer(
      "request", "GET", "/v1/account", "--key-file", keyFile, "--authority", "other.example")
    #expect(answer.code == 1)
    #expect(answer.errors == "coffer: HTTP 401\n")
  }

  @Test(arguments: [
    (["GET", "v1/account"], "a target begins with a slash and is printable ASCII"),
    (["GET", "/v1/account"], "request needs --key-file"),
    (["GET", "/v1/account", "--key-file", "k", "--header", "x"], "--header takes \"name: value\""),
    (["POST", "/v1/files", "--key-file", "k", "--sign-changes"], "--sign-changes needs --body"),
  ])
  func `what cannot be signed is code 64`(words: [String], complaint: String) throws {
    try createAccount()
    let answer = try Finished(
      ["request"] + words.map { $0 == "k" ? keyFile : $0 }, environment: environment)
    #expect(answer.code == 64)
    #expect(answer.errors == "coffer: \(complaint)\n")
  }

  @Test func `an account without payments is explained`() throws {
    try createAccount()
    let text = try coffer("entitlement", "explain", "ada")
    #expect(text.code == 0)
    #expect(text.out.contains("because   never_subscribed: no plan was ever bought\n"))
    let json = try coffer("entitlement", "explain", "ada", "--json")
    #expect(json.out.contains(#""current":{"from":null,"cap":1000000,"plan":"free","#))
  }
}
