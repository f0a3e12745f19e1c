import Base
import JSON

/// Other events that an endpoint may get: of products that Coffer does not use, and thin events.
extension FakeStripe {
  package func changeEmail(ofCustomer id: String, to email: String) {
    operate { world in
      let before = world.rendering.customer(world.customers[id])
      world.customers[id].email = email
      let after = world.rendering.customer(world.customers[id])
      world.emit("customer.updated", after, previous: before.changed(in: after), isAsked: true)
    }
  }

  /// An event of a product that Coffer does not use; no decoder here knows its kind.
  package func grantCredit(toCustomer id: String) {
    operate { world in
      let grant = world.newID("credgr")
      let now = JSONValue.seconds(world.now)
      world.emit(
        "billing.credit_grant.created",
        [
          "id": .string(grant), "object": "billing.credit_grant",
          "amount": ["monetary": ["currency": "usd", "value": 100], "type": "monetary"],
          "applicability_config": ["scope": ["price_type": "metered"]],
          "category": "promotional", "created": now, "customer": .string(id),
          "effective_at": now, "expires_at": nil, "livemode": .bool(world.settings.isLive),
          "metadata": .object([]), "name": "Sorry for the trouble", "test_clock": nil,
          "updated": now, "voided_at": nil,
        ])
    }
  }

  /// An event of API v2: it names the subscription and has none of its content.
  package func tellThinly(of subscription: String) {
    operate { world in
      let id = world.newID("evt")
      let type = "v1.customer.subscription.updated"
      let json: JSONValue = [
        "id": .string(id), "object": "v2.core.event", "context": nil,
        "created": .string(String(world.now.description.dropLast()) + ".000Z"),
        "livemode": .bool(world.settings.isLive),
        "reason": [
          "request": ["id": .string(stripeIdentifier("req", id)), "idempotency_key": ""],
          "type": "request",
        ],
        "related_object": [
          "id": .string(subscription), "type": "subscription",
          "url": .string("/v1/subscriptions/\(subscription)"),
        ], "type": .string(type),
      ]
      world.events.add(
        StripeWorld.Event(id: id, type: type, created: world.now, json: json), id: id)
    }
  }
}
