import Base
import Crypto
import JSON
import PushGateway
import Storage
import TestDevices
import Testing

/// Which devices have a push id, and which may get one.
@Suite struct PushRegistrationTests {
  private typealias Home = WakeUpTests.Home

  @Test func `a registration is shown with its device, and ends with it or by its request`() throws
  {
    let home = try Home()
    #expect(try home.isRegistered(home.phone))
    #expect(try !home.isRegistered(home.laptop))
    #expect(try home.phone.send(home.phone.sign("DELETE", "/v1/push")).status == 204)
    #expect(try !home.isRegistered(home.phone))
    #expect(try home.phone.send(home.phone.sign("DELETE", "/v1/push")).status == 204)
    #expect(try home.phone.register(push: "phone").status == 204)
    #expect(try home.laptop.revoke(key: home.phone.key.publicKey.bytes).status == 204)
    let count = try home.server.database.read { reader in
      try reader.first("SELECT count(*) FROM sync.push_ids") { row in try row.integer(0) }
    }
    #expect(count == 0)
  }

  @Test func `a push id is of the device that registered it last`() throws {
    let home = try Home()
    let stranger = try home.server.register()
    #expect(try stranger.register(push: "phone").status == 204)
    #expect(try !home.isRegistered(home.phone))
    _ = try home.laptop.add("folder")
    let friend = home.server.device(root: stranger.root)
    #expect(try stranger.admit(friend).status == 201)
    _ = try friend.add("folder")
    #expect(home.woken(1) == ["phone"])
    #expect(home.gateway.wakeUps.count == 1)
  }

  @Test(
    arguments: [
      ["id": ""], ["id": "a b"], ["id": "ä"], ["id": .string(String(repeating: "x", count: 513))],
      ["id": .integer(7)], [:], ["id": "x", "account": "y"],
    ] as [JSONValue])
  func `what is no push id is refused`(body: JSONValue) throws {
    let home = try Home()
    let answer = try home.phone.send(
      home.phone.sign("PUT", "/v1/push", body: body.encoded()))
    #expect(try answer.problem == "body_invalid")
  }

  @Test func `a session registers no push id`() throws {
    let home = try Home()
    let session = try home.laptop.send(home.laptop.sign("POST", "/v1/sessions"))
    let token = try #require(try session.json["token"].string)
    let answer = try home.laptop.send(
      TestDevice.Signed(
        method: "PUT", target: "/v1/push",
        headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")],
        body: Array(#"{"id":"laptop"}"#.utf8)))
    #expect(try answer.problem == "signature_required")
  }
}

extension WakeUpTests.Home {
  /// Whether the account's list of devices shows a push id of this one.
  func isRegistered(_ device: TestDevice) throws -> Bool {
    let key = Base64.standard.encode(device.key.publicKey.bytes)
    let devices = try laptop.get("/v1/account").json["devices"].array ?? []
    return devices.contains {
      $0["public_key"].string == key && $0["push_registered"].string != nil
    }
  }
}

extension TestDevice {
  func register(push id: String) throws -> Answer {
    try send(sign("PUT", "/v1/push", body: JSONValue.object([.init("id", .string(id))]).encoded()))
  }
}
