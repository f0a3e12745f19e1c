import ClaimingDevice
import Configuration
import HTTPMessages
import HTTPServer
import JSON
import Storage
import TestEngines
import Testing
import Tiers

/// `GET /v1/plans` of a running server while an operator applies another catalogue.
struct PlansRouteTests {
  private static func catalogue(title: String) throws -> Catalogue {
    try Catalogue(
      version: "same", free: Plan(id: "free", title: "Free", byteCount: 10),
      paid: [Plan(id: "large", title: title, byteCount: 1000)])
  }

  private func put(_ catalogue: Catalogue, _ shop: Shop) throws {
    let now = shop.now
    try shop.database.write(for: nil) { transaction in
      let before = try CatalogueOfRecord.find(reading: transaction)
      try CatalogueOfRecord.put(catalogue, after: before, at: now, in: transaction)
    }
  }

  private func plans(_ routes: [Route], having tag: String? = nil) throws -> Response {
    let headers = tag.map { [("If-None-Match", $0)] } ?? []
    let head = RequestHead(
      method: "GET", target: "/v1/plans", headers: Headers(headers),
      authority: ClaimingDevice.authority)
    let route = try #require(routes.first { $0.pattern == head.target })
    return try route.admit(head, []).wait().finish([]).wait()
  }

  private func tag(of response: Response) -> String? {
    response.headers.first { $0.name == "ETag" }?.value
  }

  @Test(arguments: TestEngine.available)
  func `what is told is the catalogue of record, were only a title another`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    let routes = shop.routes
    for title in ["Large", "Larger"] {
      try put(Self.catalogue(title: title), shop)
      let told = try ClaimingDevice.read("/v1/plans", headers: [], through: routes)
      #expect(told.json["plans"][0]["title"].string == title)
    }
  }

  @Test func `a copy is good until another catalogue is applied`() throws {
    let shop = try Shop()
    let routes = shop.routes
    try put(Self.catalogue(title: "Large"), shop)
    let old = try #require(tag(of: try plans(routes)))
    #expect(try plans(routes, having: old).status == 304)
    try put(Self.catalogue(title: "Larger"), shop)
    let answer = try plans(routes, having: old)
    #expect(answer.status == 200)
    #expect(tag(of: answer) != old)
  }

  @Test func `no copy is used without asking`() throws {
    let shop = try Shop()
    let caching = try plans(shop.routes).headers.first { $0.name == "Cache-Control" }
    #expect(caching?.value == "public, no-cache")
  }
}
