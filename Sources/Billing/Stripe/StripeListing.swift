import Base
import JSON
package import ProviderAPI
package import Stores
import Subscriptions

/// The lists in which Stripe repeats its reports: its events of thirty days, and every subscription as it is
/// now. https://docs.stripe.com/api/events/list, https://docs.stripe.com/api/subscriptions/list
extension StripeStore {
  package var listings: [StoreListing] {
    guard let api else { return [] }
    return [
      StoreListing("events", api.environment, of: .deliveries, memory: .days(30)),
      StoreListing("subscriptions", api.environment, of: .objects),
    ]
  }

  package func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    guard let api else { throw .misconfigured("there is no Stripe key") }
    return switch request.listing.content {
    case .deliveries: try api.events(request)
    case .objects: try api.subscriptions(request)
    }
  }
}

extension StripeAPI {
  /// Newest first, so that events in the meantime do not appear on later pages.
  fileprivate func events(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    var query: Form = [("created[lte]", String(request.until.seconds))]
    if let since = request.since { query.append(("created[gte]", String(since.seconds))) }
    let (list, _) = try list("/v1/events", query, after: request.place)
    let items = try malformed { () throws(JSONError) in
      try list["data"].requireArray().map { (json) throws(JSONError) -> StorePage.Item in
        guard let body = JSONValue(json)?.encoded() else { return .unreadable }
        let content: Delivery.Content
        do throws(JSONError) {
          content = .decoded(DecodedDelivery(try StripeEvent(json), received: request.until))
        } catch {
          content = .undecodable(
            id: try? json["id"].requireID(),
            type: try? json["type"].requireID(), why: "\(error)",
            requests: StripeEvent.requests(naming: json))
        }
        return .delivery(Delivery(content, proof: StoreListing.proof(by: "Stripe")), body: body)
      }
    }
    return StorePage(items: items, next: try next(list, after: request.place))
  }

  fileprivate func subscriptions(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    let (list, asOf) = try list("/v1/subscriptions", [("status", "all")], after: request.place)
    let items = try malformed { () throws(JSONError) in
      try list["data"].requireArray().map { (json) throws(JSONError) -> StorePage.Item in
        var decoder = ObjectDecoder(environment: environment, asOf: asOf)
        do throws(JSONError) { try decoder.read(json) } catch { return .unreadable }
        let shown = decoder.facts.filter { $0.key.kind == .subscription }
        guard let key = shown.first?.key else { return .unreadable }
        return .object(key, shown: shown)
      }
    }
    return StorePage(items: items, next: try next(list, after: request.place))
  }

  private func next(_ list: JSON, after place: String?) throws(APIFailure) -> String? {
    guard list["has_more"].bool == true else { return nil }
    guard let last = list["data"].array?.last?["id"].reference else {
      throw .malformed("a page that is not the last is empty")
    }
    guard last != place else { throw .malformed("a page names itself as the next one") }
    return last
  }

  private func list(
    _ path: String, _ parameters: Form, after last: String?
  ) throws(APIFailure) -> (JSON, AsOf) {
    let answer = try dated(Self.target(path, Self.page(parameters, after: last)))
    return (answer.json, .second(answer.date))
  }
}
