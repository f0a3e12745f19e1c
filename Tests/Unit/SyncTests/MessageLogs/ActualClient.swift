import Accounts
import Base
import Crypto
import JSON
import Logs
import Requests
import Storage
import TestDevices

/// A client of Actual: it knows a password, a budget, and the texts of its server.
struct ActualClient {
  static let host = "budget.test"

  private let device: TestDevice
  var token = ""

  /// Logs in with a new password of a device's account.
  init(_ server: TestServer, of device: TestDevice) throws {
    self.device = device
    let (account, now) = (try device.account, server.clock.now)
    let made = try server.database.write(for: nil) { transaction in
      try AppPassword.create(transaction, of: account, label: "", now: now)
    }
    let password = made.map { String(decoding: $0.password.exposed, as: UTF8.self) } ?? ""
    let answer = try logIn(password)
    guard answer.status == 200, let token = try answer.json["data"]["token"].string else {
      throw UnexpectedAnswer(answer)
    }
    self.token = token
  }

  /// One that has no token.
  init(stranger device: TestDevice) { self.device = device }

  func send(
    _ method: String, _ target: String, _ headers: [(String, String)] = [], _ body: [UInt8] = [],
    host: String = host
  ) throws -> Answer {
    let own = [("Host", host)] + (token.isEmpty ? [] : [("X-ACTUAL-TOKEN", token)])
    return try device.send(
      .init(method: method, target: target, headers: own + headers, body: body))
  }

  func post(_ target: String, _ body: JSONValue) throws -> Answer {
    try send("POST", target, [("Content-Type", "application/json")], body.encoded())
  }

  func logIn(_ password: String) throws -> Answer {
    try post("/account/login", ["loginMethod": "password", "password": .string(password)])
  }

  func upload(
    _ file: String, _ content: [UInt8], group: String? = nil, name: String = "My%20Finances",
    key: String? = nil
  ) throws -> Answer {
    var headers = [
      ("X-ACTUAL-FORMAT", "2"), ("X-ACTUAL-FILE-ID", file), ("X-ACTUAL-NAME", name),
      ("Content-Type", "application/encrypted-file"),
    ]
    if let group { headers.append(("X-ACTUAL-GROUP-ID", group)) }
    if let key {
      headers.append(
        ("X-ACTUAL-ENCRYPT-META", #"{"keyId":"\#(key)","algorithm":"aes-256-gcm"}"#))
    }
    return try send("POST", "/sync/upload-user-file", headers, content)
  }

  /// Uploads a budget, and returns its group.
  func create(_ file: String, _ content: [UInt8] = [1, 2, 3]) throws -> String {
    let answer = try upload(file, content)
    guard answer.status == 200, let group = try answer.json["groupId"].string else {
      throw UnexpectedAnswer(answer)
    }
    return group
  }

  func download(_ file: String) throws -> Answer {
    try send("GET", "/sync/download-user-file", [("X-ACTUAL-FILE-ID", file)])
  }

  func sync(
    _ file: String, group: String, _ messages: [SentMessage] = [], since: String = LogTests.zero,
    key: String = ""
  ) throws -> Answer {
    try send(
      "POST", "/sync/sync", [("Content-Type", "application/actual-sync")],
      Self.envelopes(messages) + Self.field(2, Array(file.utf8)) + Self.field(3, Array(group.utf8))
        + Self.field(5, Array(key.utf8)) + Self.field(6, Array(since.utf8)))
  }

  /// The bytes of messages, in a request and in an answer.
  static func envelopes(_ messages: [SentMessage]) -> [UInt8] {
    messages.flatMap { field(1, field(1, Array($0.t.utf8)) + field(3, $0.c)) }
  }

  static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
    var (bytes, rest) = ([number << 3 | 2], content.count)
    while rest >= 128 {
      bytes.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    return bytes + [UInt8(rest)] + content
  }
}

extension Answer {
  var text: String { String(decoding: body, as: UTF8.self) }
}
