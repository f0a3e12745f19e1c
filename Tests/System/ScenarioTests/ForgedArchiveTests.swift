import Archive
import Base
import Configuration
import Crypto
import JSON
import TestDevices
import TestEngines
import Testing

/// Forged or changed archives. Keys, decisions and times of an account that no server could have written are
/// refused in one line, and nothing of the archive is imported.
@Suite(.serialized) struct ForgedArchiveTests {
  private let scratch: ScratchDirectory
  private let archive: String
  private let account: Identifier
  private let old: Installation
  private let device: TestDevice
  private let new: Installation

  /// Exports an account with a second key and two decisions.
  init() throws {
    scratch = try ScratchDirectory()
    archive = scratch.path + "/ada.tar"
    old = try Installation(.sqlite)
    let sync = try old.start(.sync)
    device = try old.device(of: sync)
    account = try device.account
    let second = old.device(of: sync, key: Ed25519PrivateKey())
    #expect(try device.admit(second).status < 300)
    for words in [
      ["entitlement", "grant", "\(account)", "--plan", "premium"],
      ["quota", "set", "\(account)", "500MB"],
    ] {
      let decided = try old.command(words + ["--reason", "moved", "--yes"])
      #expect(decided.end == .exited(0), "\(decided.output)")
    }
    let made = try old.command("account", "export", "\(account)", "--to", archive)
    #expect(made.end == .exited(0), "\(made.output)")
    new = try Installation(.sqlite)
    #expect(try new.command("migrate").end == .exited(0))
  }

  /// A new archive with changed texts and added files.
  private func made(
    of archive: String? = nil, adding names: [String] = [],
    _ change: (String) -> String = { $0 }
  ) throws -> String {
    let reader = try ArchiveReader(archive ?? self.archive, kind: "coffer-account", format: 1)
    let path = scratch.path + "/made-\(Random.identifier()).tar"
    let writer = try ArchiveWriter(path, kind: "coffer-account", format: 1, at: Clock.system.now())
    for file in reader.files {
      let bytes = try reader.bytes(of: file)
      let text = file.name.hasSuffix(".json") ? String(decoding: bytes, as: UTF8.self) : nil
      try writer.add(file.name, text.map { Array(change($0).utf8) } ?? bytes)
    }
    for name in names { try writer.add(name, []) }
    _ = try writer.finish()
    return path
  }

  private func refuse(_ path: String, _ line: String) throws {
    let refused = try new.command("account", "import", path)
    #expect(refused.end == .exited(1), "\(line): \(refused.output)")
    #expect(refused.output.contains(line), "\(refused.output)")
    #expect(refused.output.utf8.count < 1000)
    let listed = try new.command("account", "list", "--json").output
    #expect(listed == #"{"accounts":[],"next":null}"# + "\n")
    let decided = try new.command("entitlement", "explain", "\(account)")
    #expect(decided.end == .exited(1), "\(decided.output)")
  }

  @Test(arguments: [
    ("\"bytes\":500000000", "\"bytes\":-1", "a quota is never -1 bytes"),
    ("\"plan\":\"premium\"", "\"plan\":\"platinum\"", "there is no plan platinum"),
    ("\"kind\":\"quota\"", "\"kind\":\"account_deleted\"", "it ends the account that comes"),
    ("\"kind\":\"quota\"", "\"kind\":\"gift\"", "a decision is of no known kind"),
    ("\"until\":null", "\"until\":9223372036854775807", "it names a time that no clock shows"),
    ("\"note\":\"moved\"", "\"note\":\"LONG\"", "its reason is longer than 1000 bytes"),
    ("\"at_ms\":1", "\"at_ms\":3", "is of 209"),
  ])
  func `a decision that nobody could have given is refused`(
    from: String, to: String, line: String
  ) throws {
    let to = to.replacing("LONG", with: String(repeating: "x", count: 1001))
    try refuse(try made { $0.replacing(from, with: to) }, line)
  }

  @Test func `a claim of a purchase that does not come along is refused`() throws {
    let path = try made { text in
      text.replacing(
        "\"kind\":\"quota\",\"object\":null",
        with: "\"kind\":\"claim\",\"object\":\"stripe:live:subscription:sub_x\"")
    }
    try refuse(path, "is of stripe:live:subscription:sub_x, which does not come along")
  }

  @Test(arguments: ["created_ms", "added_ms"])
  func `a time that is yet to come, or that no clock shows, is refused`(name: String) throws {
    for (value, line) in [
      ("4102444800000", "a time in the future"),
      ("9223372036854775807", "must be a number that can be"),
      ("-1", "must be a number that can be"),
    ] {
      let path = try made { text in
        guard let place = text.firstRange(of: "\"\(name)\":") else { return text }
        let rest = text[place.upperBound...].drop { $0.isNumber }
        return text[..<place.upperBound] + value + rest
      }
      try refuse(path, line)
    }
  }

  @Test func `a record that is deleted in a time that is yet to come is refused`() throws {
    let (gone, _) = try device.create()
    #expect(try device.delete(gone).status == 200)
    let later = scratch.path + "/later.tar"
    let made = try old.command("account", "export", "\(account)", "--to", later)
    #expect(made.end == .exited(0), "\(made.output)")
    let path = try self.made(of: later) { text in
      // That of a live record is null.
      guard let place = text.firstRange(of: "\"deleted_ms\":1") else { return text }
      let rest = text[place.upperBound...].drop { $0.isNumber }
      return "\(text[..<text.index(before: place.upperBound)])4102444800000\(rest)"
    }
    try refuse(path, "a time in the future")
  }

  @Test func `a message that is further ahead than a request's may be is refused`() throws {
    let path = "/v1/logs/\(Random.identifier())"
    let created = try device.post(
      "/v1/logs", ["id": .string(String(path.dropFirst(9))), "name": "AQ=="])
    let epoch = try #require(try created.json["epoch"].string)
    let message: JSONValue = ["t": "2026-01-02T03:04:05.000Z-0000-0123456789abcdef", "c": "AQ=="]
    let appended = try device.post(
      "\(path)/messages", ["epoch": .string(epoch), "messages": [message]])
    #expect(appended.status < 300)
    let later = scratch.path + "/later.tar"
    let made = try old.command("account", "export", "\(account)", "--to", later)
    #expect(made.end == .exited(0), "\(made.output)")
    let forged = try self.made(of: later) { $0.replacing("\"t\":\"2026-", with: "\"t\":\"3026-") }
    try refuse(forged, "a timestamp of a log in the future: 3026-01-02T03:04:05.000Z")
  }

  @Test func `a label is as short here as a client's, whatever it is made of`() throws {
    // One letter for a reader, but 400 kB on a disk.
    let label = "a" + String(repeating: "\u{301}", count: 200_000)
    let path = try made { $0.replacing("\"label\":\"first\"", with: "\"label\":\"\(label)\"") }
    try refuse(path, "must be text of at most 64 characters")
  }

  @Test func `what the format does not name is refused`() throws {
    try refuse(try made(adding: ["notes.txt"]), "notes.txt is not part of an account archive")
  }

  @Test
  func `an id that the keys do not prove is taken in only by the operator's word, and marked`()
    throws
  {
    // A forger makes an archive with their own key and another account's id. Nothing else in it names the
    // account.
    let other = Identifier("0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01")!
    let path = try made { text in
      guard text.contains("\"keys\":") else {
        return text.replacing("\(account)", with: "\(other)")
      }
      var text = text.replacing("\(account)", with: "\(other)")
      // The second key's statement names the account; the first key has no statement.
      if let start = text.firstRange(of: "\"keys\":["), let first = text.firstRange(of: "},{") {
        #expect(start.upperBound < first.lowerBound)
        text = text[..<first.lowerBound] + "}]}"
      }
      return text
    }
    try refuse(path, "the keys in it do not prove that \(other) is their account")
    let taken = try new.command("account", "import", path, "--unproven")
    #expect(taken.end == .exited(0), "\(taken.output)")
    let shown = try new.command("account", "show", "\(other)")
    #expect(
      shown.output.contains("proven     no: its keys do not prove its id\n"), "\(shown.output)")
    let audit = try new.command("audit", "list", "--json")
    #expect(audit.output.contains("\"proven\":false"), "\(audit.output)")
    let honest = try new.command("account", "import", archive)
    #expect(honest.end == .exited(1))
    #expect(honest.output.contains("a key of the account is another account's already"))
  }

  @Test func `an honest account comes in, proven by its keys`() throws {
    let taken = try new.command("account", "import", archive)
    #expect(taken.end == .exited(0), "\(taken.output)")
    let shown = try new.command("account", "show", "\(account)")
    #expect(shown.output.contains("proven     by its keys\n"), "\(shown.output)")
  }
}
