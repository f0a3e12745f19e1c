import Answers
import Base
import KnownStores
import Ledger
import Storage
import Stores
import Stripe
import TestEngines
import Testing

struct ProofTests {
  @Test(arguments: TestEngine.available)
  func `what proves deliveries is noted with its first and its last hour`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    let service = harness.service(stripe: [Secret("whsec_new"), Secret("whsec_old")])
    var number = 0
    func deliver(_ secret: String, minute: Int64) throws {
      number += 1
      let now = day0 + .minutes(minute)
      harness.set(now)
      let body = Array(
        #"""
        {"id":"evt_\#(harness.tag)\#(number)","object":"event","livemode":true,"created":1772445300,\#
        "type":"price.created","data":{"object":{"id":"price_1","object":"price"}}}
        """#.utf8)
      let signature = signatureHeader(body: body, secret: Secret(secret), at: now)
      let answer = try harness.post(body, signatures: [signature], through: service)
      #expect(answer.status == 200)
    }
    try deliver("whsec_old", minute: 0)
    try deliver("whsec_old", minute: 30)
    try deliver("whsec_new", minute: 45)
    try deliver("whsec_old", minute: 61)
    try deliver("whsec_old", minute: 90)
    let rows = try harness.database.read {
      try ProofRow.all(of: .stripe, countMax: 10, reading: $0)
    }
    #expect(rows.count == 2)
    #expect(rows.map(\.first) == [day0, day0 + .minutes(45)])
    #expect(rows.map(\.last) == [day0 + .minutes(61), day0 + .minutes(45)])
    for row in rows { #expect(!row.proof.contains("whsec")) }
    func unused() throws -> [String] {
      let secrets = [Secret("whsec_new"), Secret("whsec_old")]
      let stores = StoreList.known(with: StripeStore(secrets: WebhookSecrets(secrets)))
      return try harness.database.read { reader in
        try AttentionList(at: day0, limit: 10, stores: stores, reading: reader)
      }.items.filter { $0.kind == .unusedSecret }.map(\.detail)
    }
    #expect(try unused().isEmpty)
    try deliver("whsec_old", minute: 9 * 24 * 60)
    #expect(try unused() == [rows[1].proof])
  }
}
