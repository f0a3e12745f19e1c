import Accounts
import Base
import Crypto
import JSON
import Logs
import Storage
import TestDevices
import Testing

/// Each refusal of the door for Actual's clients, provoked by a request.
///
/// The texts are those of Actual's server, because its clients compare them letter by letter. What that server would
/// not refuse has texts of Coffer's own.
@Suite struct ActualWireTests {
  private static let file = "0f8fad5b-d9cb-469f-a165-70867728950e"
  /// The requests of an account at once. More do not come back, because the clock of the limit stands still.
  private static let burst: Int64 = 50

  /// An account with one budget.
  struct Scene {
    let server: TestServer
    let account: Identifier
    /// A client without a token.
    let stranger: ActualClient
    let client: ActualClient
    let group: String

    init() throws {
      let start = MonotonicTime.now()
      server = try TestServer(
        freeByteCount: 10_000_000, requestBurst: burst, actualAuthorities: [ActualClient.host],
        uptime: { start })
      let device = try server.register()
      account = try device.account
      stranger = ActualClient(stranger: device)
      client = try ActualClient(server, of: device)
      group = try client.create(file)
    }

    /// Another password of the account.
    func password() throws -> String {
      let now = server.clock.now
      let made = try server.database.write(for: nil) { [account] transaction in
        try AppPassword.create(transaction, of: account, label: "", now: now)
      }
      return String(decoding: try #require(made).password.exposed, as: UTF8.self)
    }

    func post(_ name: String, _ body: JSONValue) throws -> Answer {
      try client.post("/sync/\(name)", body)
    }

    /// Posts a key for the budget.
    func postKey(_ members: JSONValue.Member...) throws -> Answer {
      try post("user-create-key", .object([.init("fileId", .string(file))] + members))
    }

    func upload(_ fields: (String, String)...) throws -> Answer {
      try client.send("POST", "/sync/upload-user-file", fields, [1])
    }

    func sync(
      _ messages: [SentMessage] = [], file: String = ActualWireTests.file, group: String? = nil,
      since: String = LogTests.zero, key: String = ""
    ) throws -> Answer {
      try client.sync(file, group: group ?? self.group, messages, since: since, key: key)
    }

    func message(_ byteCount: Int = 1) -> SentMessage {
      SentMessage(server.stamp(), [UInt8](repeating: 1, count: byteCount))
    }
  }

  /// A request, and what it is answered with.
  struct Attempt: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let refusal: ActualRefusal
    let status: Int
    let text: String
    let request: @Sendable (Scene) throws -> Answer

    init(
      _ name: String, _ refusal: ActualRefusal, _ status: Int, _ text: String,
      _ request: @escaping @Sendable (Scene) throws -> Answer
    ) {
      testDescription = name
      self.refusal = refusal
      self.status = status
      self.text = text
      self.request = request
    }
  }

  private static let attempts: [Attempt] =
    ofAccounts + ofFiles + ofKeys + ofUploads + ofSyncs + ofBounds

  @Test(arguments: attempts)
  func `a request is refused with the status and the bytes that clients know`(
    attempt: Attempt
  ) throws {
    let scene = try Scene()
    let answer = try attempt.request(scene)
    #expect(answer.status == attempt.status)
    #expect(answer.text == attempt.text)
    let type = attempt.text.hasPrefix("{") ? "application/json" : "text/html"
    #expect(answer.header("Content-Type") == "\(type); charset=utf-8")
  }

  @Test func `each refusal is provoked`() {
    let others = ActualRefusal.allCases.filter { refusal in
      !Self.attempts.contains { $0.refusal == refusal }
    }
    #expect(others == [])
  }
}

extension ActualWireTests {
  private static let ofAccounts: [Attempt] = [
    Attempt(
      "no token", .tokenNotFound, 401,
      #"{"status":"error","reason":"unauthorized","details":"token-not-found"}"#
    ) { scene in try scene.stranger.send("GET", "/sync/list-user-files") },
    Attempt(
      "a token of no one", .tokenNotFound, 401,
      #"{"status":"error","reason":"unauthorized","details":"token-not-found"}"#
    ) { scene in try scene.stranger.post("/sync/user-get-key", ["token": "none"]) },
    Attempt(
      "a wrong password", .passwordInvalid, 400,
      #"{"status":"error","reason":"invalid-password"}"#
    ) { scene in try scene.stranger.logIn("secret") },
    Attempt(
      "wrong passwords before", .tooManyTries, 429,
      #"{"status":"error","reason":"too-many-requests"}"#
    ) { scene in
      let password = "cap-0123456789-\(String(repeating: "0", count: 26))"
      for _ in 0..<5 { _ = try scene.stranger.logIn(password) }
      return try scene.stranger.logIn(password)
    },
    Attempt(
      "a server to set up with nothing", .loginSettingsMissing, 400,
      #"{"status":"error","reason":"invalid-login-settings"}"#
    ) { scene in try scene.stranger.send("POST", "/account/bootstrap") },
    Attempt(
      "a server to set up", .alreadyBootstrapped, 400,
      #"{"status":"error","reason":"already-bootstrapped"}"#
    ) { scene in try scene.stranger.post("/account/bootstrap", ["password": "secret"]) },
    Attempt(
      "another password", .passwordFixed, 403,
      #"{"status":"error","reason":"forbidden","details":"permission-not-found"}"#
    ) { scene in try scene.client.post("/account/change-password", ["password": "secret"]) },
    Attempt(
      "requests beyond the limit", .rateLimited, 429,
      "Too many requests, please try again later."
    ) { scene in
      for _ in 0..<burst { _ = try scene.client.send("GET", "/account/validate") }
      return try scene.client.send("GET", "/account/validate")
    },
    Attempt(
      "log-ins beyond the limit", .rateLimited, 429,
      "Too many requests, please try again later."
    ) { scene in
      let password = try scene.password()
      for _ in 0..<burst { _ = try scene.stranger.logIn(password) }
      return try scene.stranger.logIn(password)
    },
    Attempt(
      "half an object", .bodyInvalid, 400, #"{"status":"error","reason":"invalid-body"}"#
    ) { scene in try scene.client.send("POST", "/sync/reset-user-file", [], Array("{".utf8)) },
  ]

  private static let ofFiles: [Attempt] = [
    Attempt("information about no file", .fileInvalid, 400, "invalid fileId") { scene in
      try scene.client.send("GET", "/sync/get-user-file-info")
    },
    Attempt(
      "information about an unknown file", .fileWithoutInfo, 400,
      #"{"status":"error","reason":"file-not-found"}"#
    ) { scene in
      try scene.client.send("GET", "/sync/get-user-file-info", [("X-ACTUAL-FILE-ID", "other")])
    },
    Attempt("a download of no file", .fileNotSingle, 400, "Single file ID is required") { scene in
      try scene.client.send("GET", "/sync/download-user-file")
    },
    Attempt("a download of a path", .fileInvalid, 400, "invalid fileId") { scene in
      try scene.client.download("../other")
    },
    Attempt("a download of an unknown file", .fileUnknown, 400, "User or file not found") { scene in
      try scene.client.download("other")
    },
    Attempt("a reset of a path", .fileInvalid, 400, "invalid fileId") { scene in
      try scene.post("reset-user-file", ["fileId": "../other"])
    },
    Attempt("a reset of an unknown file", .fileUnknown, 400, "User or file not found") { scene in
      try scene.post("reset-user-file", ["fileId": "other"])
    },
    Attempt("a name for an unknown file", .fileNotFound, 400, "file-not-found") { scene in
      try scene.post("update-user-filename", ["fileId": "other", "name": "Budget"])
    },
    Attempt(
      "a name that is a number", .nameNotText, 400, "name is required and must be a string"
    ) { scene in
      try scene.post("update-user-filename", ["fileId": .string(file), "name": 7])
    },
    Attempt(
      "a deletion of no file", .fileToDeleteMissing, 422,
      #"{"details":"fileId-required","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.post("delete-user-file", .object([])) },
    Attempt("a deletion of an unknown file", .fileNotFound, 400, "file-not-found") { scene in
      try scene.post("delete-user-file", ["fileId": "other"])
    },
  ]

  private static let ofKeys: [Attempt] = [
    Attempt("the key of an unknown file", .fileNotFound, 400, "file-not-found") { scene in
      try scene.post("user-get-key", ["fileId": "other"])
    },
    Attempt("a key for an unknown file", .fileNotFound, 400, "file-not-found") { scene in
      try scene.post("user-create-key", ["fileId": "other", "keyId": "k"])
    },
    Attempt(
      "a key without an id", .keyNotText, 400, "keyId is required and must be a string"
    ) { scene in try scene.postKey(.init("keySalt", "s"), .init("testContent", "{}")) },
    Attempt(
      "a key without a salt", .saltNotText, 400, "keySalt is required and must be a string"
    ) { scene in try scene.postKey(.init("keyId", "k"), .init("testContent", "{}")) },
    Attempt(
      "a key without a test", .testNotText, 400, "testContent is required and must be a string"
    ) { scene in try scene.postKey(.init("keyId", "k"), .init("keySalt", "s")) },
  ]

  private static let ofUploads: [Attempt] = [
    Attempt(
      "an upload without a name", .nameMissing, 400, "single x-actual-name is required"
    ) { scene in try scene.upload(("X-ACTUAL-FILE-ID", "other")) },
    Attempt("an upload with a name that is no text", .nameInvalid, 400, "invalid x-actual-name") {
      scene in try scene.upload(("X-ACTUAL-FILE-ID", "other"), ("X-ACTUAL-NAME", "%FF"))
    },
    Attempt("an upload of no file", .fileMissing, 400, "fileId is required") { scene in
      try scene.upload(("X-ACTUAL-NAME", "Budget"))
    },
    Attempt("an upload of a path", .fileInvalid, 400, "invalid fileId") { scene in
      try scene.upload(("X-ACTUAL-NAME", "Budget"), ("X-ACTUAL-FILE-ID", "../other"))
    },
    Attempt("an upload to a path", .groupInvalid, 400, "invalid groupId") { scene in
      try scene.upload(
        ("X-ACTUAL-NAME", "Budget"), ("X-ACTUAL-FILE-ID", "other"),
        ("X-ACTUAL-GROUP-ID", "../other"))
    },
    Attempt(
      "an upload with half an object", .metaInvalid, 400,
      "x-actual-encrypt-meta must be valid JSON"
    ) { scene in
      try scene.upload(
        ("X-ACTUAL-NAME", "Budget"), ("X-ACTUAL-FILE-ID", "other"),
        ("X-ACTUAL-ENCRYPT-META", "{"))
    },
    Attempt(
      "an upload with a number as its key", .metaWithoutKey, 400,
      "x-actual-encrypt-meta must contain a string keyId"
    ) { scene in
      try scene.upload(
        ("X-ACTUAL-NAME", "Budget"), ("X-ACTUAL-FILE-ID", "other"),
        ("X-ACTUAL-ENCRYPT-META", #"{"keyId":7}"#))
    },
    Attempt("an upload of another state", .fileHasReset, 400, "file-has-reset") { scene in
      try scene.client.upload(file, [1], group: "other")
    },
    Attempt("an upload under another key", .fileHasNewKey, 400, "file-has-new-key") { scene in
      try scene.client.upload(file, [1], group: scene.group, key: "k")
    },
  ]

  private static let ofSyncs: [Attempt] = [
    Attempt(
      "junk", .syncMalformed, 422,
      #"{"details":"invalid-sync-payload","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.client.send("POST", "/sync/sync", [], [0xFF, 0xFF]) },
    Attempt(
      "an empty body", .sinceMissing, 422,
      #"{"details":"since-required","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.client.send("POST", "/sync/sync") },
    Attempt(
      "no time since when", .sinceMissing, 422,
      #"{"details":"since-required","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.sync(since: "") },
    Attempt(
      "a date since when", .sinceInvalid, 422,
      #"{"details":"invalid-since-timestamp","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.sync(since: "2024-05-01") },
    Attempt(
      "a message of a date", .timestampInvalid, 422,
      #"{"details":"invalid-timestamp","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.sync([SentMessage("2024-05-01")]) },
    Attempt(
      "a message of 64 KiB", .messageTooLong, 422,
      #"{"details":"message-too-long","reason":"unprocessable-entity","status":"error"}"#
    ) { scene in try scene.sync([scene.message(65_536)]) },
    Attempt("a sync of a path", .fileInvalid, 400, "invalid fileId") { scene in
      try scene.sync(file: "../other")
    },
    Attempt("a sync of an unknown file", .fileNotFound, 400, "file-not-found") { scene in
      try scene.sync(file: "other")
    },
    Attempt("a sync of an old format", .fileOldVersion, 400, "file-old-version") { scene in
      let uploaded = try scene.upload(
        ("X-ACTUAL-NAME", "Budget"), ("X-ACTUAL-FILE-ID", "other"), ("X-ACTUAL-FORMAT", "1"))
      guard uploaded.status == 200 else { throw UnexpectedAnswer(uploaded) }
      return try scene.sync(file: "other")
    },
    Attempt("a sync after a reset", .fileNeedsUpload, 400, "file-needs-upload") { scene in
      _ = try scene.post("reset-user-file", ["fileId": .string(file)])
      return try scene.sync()
    },
    Attempt("a sync before the upload under a key", .fileKeyMismatch, 400, "file-key-mismatch") {
      scene in
      _ = try scene.postKey(
        .init("keyId", "k"), .init("keySalt", "s"), .init("testContent", "{}"))
      return try scene.sync(key: "k")
    },
    Attempt("a sync of another state", .fileHasReset, 400, "file-has-reset") { scene in
      try scene.sync(group: "other")
    },
    Attempt("a sync under another key", .fileHasNewKey, 400, "file-has-new-key") { scene in
      try scene.sync(key: "k")
    },
    Attempt("a message from the future", .clockDrift, 400, "clock-drift") { scene in
      try scene.sync([SentMessage(scene.server.stamp(.minutes(11)))])
    },
  ]

  private static let ofBounds: [Attempt] = [
    Attempt("an upload beyond the cap", .overCap, 507, "over-cap") { scene in
      try scene.server.setCap(scene.account, 1000, plan: "free", reason: "never_subscribed")
      return try scene.client.upload("other", [UInt8](repeating: 1, count: 10_000))
    },
    Attempt("a message for a full log", .logFull, 507, "log-full") { scene in
      try scene.server.database.write(for: nil) { transaction in
        _ = try transaction.execute("UPDATE sync.log_epochs SET message_count = 1000000")
      }
      return try scene.sync([scene.message()])
    },
    Attempt("a file beside 200", .tooManyFiles, 507, "too-many-files") { scene in
      try scene.server.database.write(for: nil) { [account = scene.account] transaction in
        for _ in 1..<200 {
          try transaction.execute(
            """
            INSERT INTO sync.logs (id, owner_id, epoch_id, name, created_ms)
            VALUES ($1, $2, $3, $4, 0)
            """, .id(Random.identifier()), .id(account), .id(Random.identifier()), .blob([1]))
        }
      }
      return try scene.client.upload("other", [1])
    },
    Attempt("a message of a suspended account", .suspended, 403, "account-suspended") { scene in
      try scene.server.suspend(scene.account, since: scene.server.clock.now)
      return try scene.sync([scene.message()])
    },
    Attempt("an upload beside much that waits", .tooMuchReplaced, 429, "too-much-replaced") {
      scene in
      try scene.server.database.write(for: nil) { transaction in
        _ = try transaction.execute("UPDATE sync.accounts SET kept_bytes = 1000000000")
      }
      return try scene.client.upload(file, [1], group: scene.group)
    },
  ]
}
