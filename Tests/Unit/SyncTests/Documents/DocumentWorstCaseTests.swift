import Base
import Crypto
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

/// The cost of the most expensive requests about documents of versions, in statements and rows; counted, not timed.
@Suite struct DocumentWorstCaseTests {
  private let document = Random.identifier()

  /// The keys of as many devices as an account may have had besides one.
  private static let keys = (0..<999).map { index in
    [UInt8](repeating: 1, count: 30) + [UInt8(index >> 8), UInt8(index & 0xFF)]
  }

  private static let clock = Dictionary(uniqueKeysWithValues: keys.map { ($0, Int64(1)) })

  /// Gives an account versions of devices, of which none is current any more.
  private func plantDevices(_ server: TestServer, _ device: TestDevice) throws {
    let account = try device.account
    try server.database.write(for: nil) { transaction in
      for key in Self.keys {
        try transaction.execute(
          """
          INSERT INTO sync.document_devices (account_id, author_key, counter) VALUES ($1, $2, 1)
          """, .id(account), .blob(key))
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a pull with a clock of a thousand devices reads each once, and writes nothing`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    try device.push(device.version(document, 1)).requireSuccess()
    try plantDevices(server, device)
    let clock = Self.clock.merging([device.publicKey: 1]) { $1 }
    let (read, written) = (server.database.readWork, server.database.writeWork)
    #expect(try device.pull(clock).versions.isEmpty)
    let work = server.database.readWork - read
    #expect(work.returnedRowCount <= 1000 + 20)
    #expect(work.statementCount <= 20)
    #expect((server.database.writeWork - written).statementCount == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a first pull asks for no versions of devices of which none is current any more`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    try device.push(device.version(document, 1)).requireSuccess()
    try plantDevices(server, device)
    let before = server.database.readWork
    let pulled = try device.pull()
    #expect(pulled.versions.count == 1 && pulled.clock.count == 1000)
    let work = server.database.readWork - before
    #expect(work.returnedRowCount <= 1000 + 20)
    #expect(work.statementCount <= 20)
  }

  @Test(arguments: TestEngine.available)
  func `a version that was made of a thousand devices' costs no more rows than any other`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let usage = try device.usage()
    let before = server.database.writeWork
    try device.push(device.version(document, 1, covering: Self.clock, [1])).requireSuccess()
    let work = server.database.writeWork - before
    #expect(work.changedRowCount <= 12)
    #expect(work.statementCount <= 30)
    #expect(try device.usage() == usage + 1000 + 128 + 1 + 999 * 40)
    #expect(try device.pull().versions.map(\.clock) == [Self.clock])
    let longer = Dictionary(
      uniqueKeysWithValues: (0..<2001).map { number in
        ([UInt8](repeating: 2, count: 30) + [UInt8(number >> 8), UInt8(number & 255)], Int64(1))
      })
    let refused = try device.push(device.version(document, 2, covering: longer, [1]))
    #expect(try refused.problem == "body_invalid")
    #expect(try device.pullPage(longer).problem == "body_invalid")
  }

  @Test(arguments: TestEngine.available)
  func `the largest batch changes a row for each version that it brings or replaces, and few more`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30, cap: 100_000_000)
    let devices = try server.devices(4)
    let documents = (0..<500).map { _ in Random.identifier() }
    for device in devices {
      let versions = documents.enumerated().map { index, document in
        device.version(document, Int64(index + 1), [1])
      }
      let before = server.database.writeWork
      try device.push(versions).requireSuccess()
      let work = server.database.writeWork - before
      #expect(work.changedRowCount <= 500 + 12)
      #expect(work.statementCount <= 60)
      // The same again is read, and not written.
      let (read, written) = (server.database.readWork, server.database.writeWork)
      #expect(try device.push(versions).json["repeated"].integer == 500)
      #expect((server.database.readWork - read).returnedRowCount <= 500 * (4 + 1) + 20)
      #expect((server.database.writeWork - written).changedRowCount <= 12)
    }
    let last = devices[3]
    let deletions = documents.enumerated().map { index, document in
      last.version(document, Int64(501 + index), covering: [last.publicKey: 500], nil)
    }
    let before = server.database.writeWork
    try last.push(deletions).requireSuccess()
    let work = server.database.writeWork - before
    #expect(work.changedRowCount <= 4 * 500 + 500 + 12)
    #expect(work.statementCount <= 80)
    try server.requireDocuments(last)
  }

  @Test(arguments: TestEngine.available)
  func `the largest batch for 64 other accounts costs as much for each, and one for 65 is refused`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let others = try server.plantContacts(65, of: ada).map(\.account)
    let documents = (0..<500).map { _ in Random.identifier() }
    func versions(after counter: Int64) -> [MadeVersion] {
      documents.enumerated().map { index, document in
        ada.version(
          document, counter + Int64(index) + 1,
          covering: counter == 0 ? [:] : [ada.publicKey: counter], [1],
          to: (0..<3).map { others[(3 * index + $0) % 64] })
      }
    }
    let beyond =
      versions(after: 0).suffix(100)
      + [ada.version(Random.identifier(), 501, to: [others[64]])]
    let wide = ada.version(documents[0], 1, to: Array(others.prefix(17)))
    let before = server.database.writeWork
    #expect(try ada.push(Array(beyond)).problem == "body_invalid")
    #expect(try ada.push(wide).problem == "body_invalid")
    #expect(server.database.writeWork == before)
    for time in Int64(0)...1 {
      let batch = versions(after: time * 500)
      let read = server.database.readWork
      let work = try server.writes { try ada.push(batch).requireSuccess() }
      // A row of each version in each account, in place of the one before, and a text for all of them.
      #expect(work.changedRowCount <= (1 + time) * (2000 + 500) + 64 * 8 + 40)
      #expect(work.statementCount <= 64 * 16 + 150)
      let judged = server.database.readWork - read
      #expect(judged.statementCount <= 64 * 8 + 60)
      #expect(judged.returnedRowCount <= 2000 + 64 * 8 + 100)
      #expect(try server.count("document_versions") == 2000)
      #expect(try server.count("document_texts") == 500)
    }
    try server.requireDocuments(ada)
  }
}
