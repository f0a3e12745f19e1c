import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Key packages: each is given once, to whoever may have it.
@Suite struct KeyPackageTests {
  @Test(arguments: TestEngine.available)
  func `the oldest package is given first, each once, and the last resort when none is left`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    #expect(try ada.claim(from: bob.publicKey).problem == "no_key_package")
    let before = try bob.usage()
    let offered = try bob.offer([bob.keyPackage(1)], lastResort: bob.keyPackage(9))
    #expect(try offered.json["key_packages"].integer == 1)
    #expect(try offered.json["last_resort"].bool == true)
    try bob.offer([bob.keyPackage(2)]).requireSuccess()
    let byteCount = Int64(bob.keyPackage(1).count)
    #expect(try bob.usage() == before + 3 * (1000 + 128 + byteCount))
    for number in UInt8(1)...2 {
      let claimed = try ada.claim(from: bob.publicKey).json
      #expect(claimed["key_package"].base64 == bob.keyPackage(number))
      #expect(claimed["last_resort"].bool == false)
    }
    for _ in 0..<2 {
      let claimed = try ada.claim(from: bob.publicKey).json
      #expect(claimed["key_package"].base64 == bob.keyPackage(9))
      #expect(claimed["last_resort"].bool == true)
    }
    #expect(try bob.usage() == before + 1000 + 128 + byteCount)
    let mailbox = try bob.mailbox()
    #expect(mailbox["key_packages"].integer == 0)
    #expect(mailbox["last_resort"].bool == true)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `claims at the same time get each package once`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let bob = try server.register()
    let friends = try (0..<3).map { _ in try server.register() }
    for friend in friends { try server.introduce(friend, bob) }
    try bob.offer((1...50).map { bob.keyPackage($0) }).requireSuccess()
    let claimed = Locked<[[UInt8]]>([])
    let problems = Locked<[String]>([])
    // 60 claims, as many as the three accounts may make.
    let threads = friends.flatMap { friend in
      (0..<4).map { _ in
        let client = server.device(key: friend.key, root: friend.root)
        return Thread {
          for _ in 0..<5 {
            do {
              var answer = try client.claim(from: bob.publicKey)
              // A client sends again what a busy server did not take.
              for _ in 0..<20 where answer.status == 503 {
                answer = try client.claim(from: bob.publicKey)
              }
              if let bytes = try answer.json["key_package"].base64 {
                claimed.withLock { $0.append(bytes) }
              } else {
                let problem = try answer.problem ?? "\(answer.status)"
                problems.withLock { $0.append(problem) }
              }
            } catch { problems.withLock { $0.append("\(error)") } }
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(claimed.withLock { $0.count } == 50)
    #expect(Set(claimed.withLock { $0 }).count == 50)
    #expect(problems.withLock { $0 } == [String](repeating: "no_key_package", count: 10))
    #expect(try bob.mailbox()["key_packages"].integer == 0)
    try server.requireMailboxes(bob)
  }

  @Test(arguments: TestEngine.available)
  func `an account claims so many packages of a device in a day, and so many in all`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    try bob.offer([], lastResort: bob.keyPackage(1)).requireSuccess()
    for _ in 0..<20 { try ada.claim(from: bob.publicKey).requireSuccess() }
    let refused = try ada.claim(from: bob.publicKey)
    #expect(refused.status == 429)
    #expect(try refused.problem == "claims_limited")
    let wait = try #require(refused.header("Retry-After").flatMap { Int64($0) })
    server.clock.advance(.seconds(wait))
    try ada.claim(from: bob.publicKey).requireSuccess()
    #expect(try server.count("key_package_claims") == 1)
    try server.change(
      "UPDATE sync.mailbox_totals SET claim_count = 1000 WHERE account_id = $1",
      .id(try ada.account))
    #expect(try ada.claim(from: bob.publicKey).problem == "claims_limited")
    // A limit of one account is none of another.
    try bob.claim(from: bob.publicKey).requireSuccess()
  }

  @Test(arguments: TestEngine.available)
  func `a device offers at most 100 packages, and none twice, and no other device's`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let all = (1...101).map { ada.keyPackage($0) }
    #expect(try ada.offer(all).problem == "body_invalid")
    #expect(try ada.offer([ada.keyPackage(1), ada.keyPackage(1)]).problem == "body_invalid")
    #expect(try ada.offer([ada.keyPackage(1, of: bob.publicKey)]).problem == "body_invalid")
    #expect(try ada.offer([[0, 1, 0, 1, 0xC0]]).problem == "body_invalid")
    try ada.offer(Array(all.dropLast()), lastResort: ada.keyPackage(200)).requireSuccess()
    let again = try ada.offer(Array(all.prefix(3)), lastResort: ada.keyPackage(200))
    #expect(try again.json["stored"].integer == 0)
    #expect(try ada.offer([all[100]]).problem == "too_many_key_packages")
    // Another last resort takes the place of the one before.
    #expect(try ada.offer([], lastResort: ada.keyPackage(201)).json["stored"].integer == 1)
    #expect(try server.count("key_packages") == 101)
    // What was given is not offered again, as by a client that lost the answer.
    let given = try #require(try bob.claim(from: ada.publicKey).json["key_package"].base64)
    #expect(all.contains(given))
    #expect(try ada.offer([given]).json["stored"].integer == 0)
    #expect(try ada.mailbox()["key_packages"].integer == 99)
    try server.requireMailboxes(ada, bob)
    server.clock.advance(.days(1))
    try server.sweeper().sweep()
    #expect(try server.count("key_packages") == 100)
  }

  @Test func `a package may be an MLSMessage`() throws {
    let server = try TestServer()
    let ada = try server.register()
    let wrapped: [UInt8] = [0, 1, 0, 5] + ada.keyPackage(1)
    try ada.offer([wrapped]).requireSuccess()
    #expect(try ada.claim(from: ada.publicKey).json["key_package"].base64 == wrapped)
  }

  @Test(arguments: TestEngine.available)
  func `a device that is no contact's offers nothing, whether it exists or not`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    try bob.offer([bob.keyPackage(1)]).requireSuccess()
    let (real, none) = (
      try ada.claim(from: bob.publicKey), try ada.claim(from: Random.bytes(32))
    )
    #expect(real.status == 404)
    #expect(try real.json["detail"].string == none.json["detail"].string)
    #expect(try real.problem == none.problem)
    #expect(try ada.claim(from: [1, 2]).problem == "device_not_found")
    #expect(try bob.mailbox()["key_packages"].integer == 1)
  }
}
