import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// A stranger's requests for ids that it guessed or heard of, and what they reveal.
@Suite struct ProbingTests {
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let stranger: TestDevice
    let carol: Identifier
    /// Alice's files, one of each kind.
    let files: [Identifier]

    init(_ engine: TestEngine = .sqlite) throws {
      server = try TestServer(engine)
      alice = try server.register()
      stranger = try server.register()
      let friend = try server.register()
      carol = try friend.account
      let folder = try alice.add("folder")
      let document = try alice.add(in: folder)
      try alice.put(document, [1], ifMatch: "*").requireSuccess()
      try alice.share(folder, with: friend)
      let offered = try friend.add()
      let link = try friend.share(offered, with: alice)
      let deleted = try alice.add()
      try alice.delete(deleted).requireSuccess()
      files = [alice.root, folder, document, link, deleted]
    }
  }

  /// The answer, without the requested id and without the request's own.
  private func text(_ answer: Answer, without id: Identifier) throws -> String {
    let body = String(decoding: answer.body, as: UTF8.self)
    let request = try answer.json["instance"].string ?? ""
    return "\(answer.status) "
      + body.replacing(id.description, with: "ID").replacing(request, with: "REQUEST")
  }

  @Test(arguments: TestEngine.available)
  func `another's file answers word for word like one that never was`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let stranger = scene.stranger
    let before = try scene.server.state()
    let own = try stranger.account
    let name = FileStatement.Name()
    func probes(_ id: Identifier, owner: Identifier) throws -> [Answer] {
      func changed(_ body: (inout FileStatement) -> Void) throws -> Answer {
        var file = FileStatement(id: id, owner: owner, parent: stranger.root, name: name, key: [1])
        body(&file)
        return try stranger.batch(files: [
          FileChange(expect: .at(parent: stranger.root, hmac: name.hmac), file)
        ])
      }
      func share(_ expect: String, _ account: Identifier, _ state: ShareStatement.State) throws
        -> Answer
      {
        try stranger.batch(shares: [
          ShareChange(
            expect: expect, ShareStatement(file: id, account: account, state: state))
        ])
      }
      return [
        try stranger.get("/v1/files/\(id)"), try stranger.get("/v1/files/\(id)/content"),
        try stranger.put(id, [1], ifMatch: "*"),
        try stranger.put(id, Random.bytes(20_000), ifMatch: "*"),
        try changed { _ in }, try changed { $0.deleted = true }, try changed { $0.parent = id },
        try changed { $0.type = "folder" },
        try stranger.create(parent: id, owner: owner, id: scene.carol).answer,
        try stranger.batch(files: [
          FileChange(
            FileStatement(
              id: scene.carol, owner: own, parent: stranger.root, type: "link", name: name,
              target: id))
        ]),
        try share("new", scene.carol, .granted(mode: "read", key: [1])),
        try share("new", own, .granted(mode: "write", key: [1])),
        try share("accepted", scene.carol, .revoked), try share("pending", own, .rejected),
      ]
    }
    let owner = try scene.alice.account
    let unknown = Random.identifier()
    let expected = try probes(unknown, owner: owner).map { try text($0, without: unknown) }
    for file in scene.files {
      let answers = try probes(file, owner: owner).map { try text($0, without: file) }
      for (answer, expected) in zip(answers, expected) { #expect(answer == expected) }
    }
    for answer in expected {
      #expect(answer.contains("not_found") || answer.contains("_not_found"))
    }
    #expect(try scene.server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `an id that another tree holds is taken, and that is all`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let before = try scene.server.state()
    var answers: Set<String> = []
    for file in scene.files {
      for type in ["folder", "document"] {
        let (_, answer) = try scene.stranger.create(type, id: file)
        #expect(try answer.rules == ["id_taken"])
        answers.insert(try text(answer, without: file))
      }
    }
    #expect(answers.count == 1)
    #expect(try scene.server.state() == before)
  }

  @Test func `a tree's owner that exists answers like one that does not`() throws {
    let scene = try Scene()
    let id = Random.identifier()
    let answers = try [try scene.alice.account, Random.identifier()].map { owner in
      try text(scene.stranger.create(owner: owner, id: id).answer, without: owner)
    }
    #expect(answers[0] == answers[1])
  }

  @Test func `an invited account learns nothing of what lies around the file`() throws {
    let scene = try Scene()
    let stranger = scene.stranger
    let document = scene.files[2]
    try scene.alice.grant(document, to: stranger.account).requireSuccess()
    let record = try stranger.record(document)
    #expect(record.shares.map(\.account) == [try stranger.account])
    #expect(try stranger.get("/v1/files/\(record.parent)").problem == "file_not_found")
    #expect(
      try stranger.create(parent: record.parent, owner: scene.alice.account).answer.rules
        == ["parent_not_found"])
    #expect(
      try stranger.pulled().ids == [stranger.root, document])
  }

  @Test func `a sharee sees its own share of a file, and no other's`() throws {
    let scene = try Scene()
    let folder = scene.files[1]
    try scene.alice.share(folder, with: scene.stranger)
    #expect(
      try scene.stranger.record(folder).shares.map(\.account) == [scene.stranger.account])
    let replica = try scene.stranger.pulled()
    #expect(
      replica.records[folder]?.shares.map(\.account) == [try scene.stranger.account])
    #expect(try Set(scene.alice.record(folder).shares.map(\.account)).count == 2)
  }
}
