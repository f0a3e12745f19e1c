import Base
import Crypto
import JSON
import TestDevices
import Testing

@Suite struct DirectoryTests {
  @Test func `an account is found by its name in any case, its id, and each of its keys`() throws {
    let server = try TestServer()
    let alice = try server.register(username: "Alice")
    let bob = try server.register()
    let id = try alice.account
    let key = Base64.url.encode(alice.key.publicKey.bytes)
    for query in ["username=aLICE", "account=\(id)", "key=\(key)"] {
      let answer = try bob.get("/v1/directory?\(query)")
      #expect(answer.status == 200, "\(query)")
      let entry = try answer.json
      #expect(entry["account"].string == id.description)
      #expect(entry["username"].string == "Alice")
      #expect(
        entry["keys"].array?.map { $0["public_key"].string }
          == [Base64.standard.encode(alice.key.publicKey.bytes)])
    }
  }

  @Test(arguments: ["username=nobody", "account=\(Random.identifier())"])
  func `whoever does not exist is not found`(query: String) throws {
    let server = try TestServer()
    let answer = try server.register().get("/v1/directory?\(query)")
    #expect(answer.status == 404)
    #expect(try answer.problem == "account_not_found")
  }

  @Test(arguments: [
    "", "username=", "username=a%20b", "account=1", "key=AAAA", "username=a&username=b",
    "username=a&account=b", "user=a",
  ])
  func `other questions are refused`(query: String) throws {
    let server = try TestServer()
    let answer = try server.register().get("/v1/directory?\(query)")
    #expect(answer.status == 400)
    #expect(try answer.problem == "query_invalid")
  }

  @Test func `nobody without an account looks others up`() throws {
    let server = try TestServer()
    _ = try server.register(username: "alice")
    let answer = try server.device().get("/v1/directory?username=alice")
    #expect(answer.status == 401)
  }
}
