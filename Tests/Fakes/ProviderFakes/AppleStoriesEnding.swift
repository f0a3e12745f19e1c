import Base

extension AppleStory {
  /// Reversals, families, deleted accounts, and products that are not ours.
  static let ending = [
    AppleStory("refund-current", "A refund of the current period ends access that day") { story in
      let id = story.buy()
      story.go(.days(3))
      story.store.refund(id)
      story.deliver(.premium(), refunded)
      story.time(story.store.expiry(of: id) + .days(1), refunded)
    },
    AppleStory(
      "refund-in-grace",
      "A refund of the period before it ends grace, though the store goes on telling of grace",
      settings: { $0.tellsGraceAfterRefund = true }
    ) { story in
      let id = story.buy()
      story.store.breakCard(id)
      story.go(to: story.store.expiry(of: id))
      story.deliver(.premium("grace", "grace"))
      story.go(.days(3))
      story.store.refund(id)
      story.deliver(.premium("grace", "grace"), refunded)
      story.time(story.store.expiry(of: id) + .days(9), refunded)
    },
    AppleStory("refund-prorated", "A refund of what is left of the period ends access that day") {
      story in
      let id = story.buy()
      story.go(.days(12))
      story.store.refund(id, percentage: 61_290)
      story.deliver(.premium(), refunded)
    },
    AppleStory("refund-earlier", "A refund of an earlier period leaves the current one alone") {
      story in
      let id = story.buy()
      let end = story.store.expiry(of: id)
      story.renew(id, .premium())
      story.go(to: end + .days(3))
      story.store.refund(id)
      story.deliver(.premium())
      story.renew(id, .premium())
    },
    AppleStory(
      "refund-reversed-again",
      "Refunded, reversed, refunded again: one transaction, and its latest word counts"
    ) { story in
      let id = story.buy()
      story.go(.days(3))
      story.store.refund(id)
      story.deliver(.premium(), refunded)
      story.go(.days(2))
      story.store.reverseRefund(id)
      story.deliver(.premium())
      story.go(.days(2))
      story.store.refund(id)
      story.deliver(refunded)
    },
    AppleStory("refund-reversed", "A refund that is reversed gives the period back to its end") {
      story in
      let id = story.buy()
      story.go(.days(3))
      story.store.refund(id)
      story.deliver(.premium(), refunded)
      story.go(.days(2))
      story.store.reverseRefund(id)
      story.deliver(.premium())
      let over = StoryExpectation.free("lapsed", "expired")
      story.edge(story.store.expiry(of: id), .premium(), over)
      story.deliver(over)
    },
    AppleStory(
      "resubscribe-from-store",
      "Bought again on the store's own page, without our app and its token, it is the account's"
    ) { story in
      let id = story.lapse()
      story.go(.days(11))
      story.store.resubscribe(id)
      story.deliver(.premium())
      story.renew(id, .premium())
    },
    AppleStory("resubscribe-to-larger", "Bought again after months, it may be a larger plan") {
      story in
      let id = story.lapse()
      story.go(.days(140))
      story.store.resubscribe(id, .plusMonthly, namesAccount: true)
      story.deliver(.plus())
    },
    AppleStory("family-revoke", "A member of the family claims theirs, and loses it with sharing") {
      story in
      let buyer = story.store.buy(.premiumMonthly, for: nil)
      story.deliver(.nobody)
      story.go(.days(1))
      let member = story.store.share(buyer, with: story.account)
      story.deliver(.nobody)
      story.claim(member, .premium())
      story.go(.days(8))
      story.store.stopSharing(member)
      story.deliver(refunded)
      story.renew(buyer, refunded)
    },
    AppleStory("account-deleted", "A deleted account's purchase renews, and belongs to nobody") {
      story in
      let id = story.buy()
      story.go(.days(5))
      story.deleteAccount()
      story.renew(id, .nobody)
      story.store.turnOffRenewal(id)
      story.go(to: story.store.expiry(of: id))
      story.deliver(.nobody, .nobody)
    },
    AppleStory(
      "sandbox", "What the sandbox sells is kept apart and grants nothing",
      settings: { $0.environment = .sandbox }
    ) { story in
      let id = story.store.buy(.premiumMonthly, for: story.account)
      story.deliver(.nothing)
      story.go(to: story.store.expiry(of: id))
      story.deliver(.nothing)
      story.store.turnOffRenewal(id)
      story.go(to: story.store.expiry(of: id))
      story.deliver(.nothing, .nothing)
    },
    AppleStory("ignored-product", "A product that is no storage changes nothing") { story in
      let id = story.store.buy(.stickersMonthly, for: story.account)
      story.deliver(.nothing)
      story.renew(id, .nothing)
    },
    AppleStory(
      "everything-else", "What changes nothing, and what nobody knows yet, is kept and answered"
    ) { story in
      let id = story.buy()
      story.store.sendTest()
      story.store.notify(id, "CONSUMPTION_REQUEST")
      story.store.notify(id, "REFUND_DECLINED")
      story.store.notify(id, "OFFER_REDEEMED")
      story.store.notify(id, "RENEWAL_EXTENSION", "FAILURE")
      story.store.notify(id, "LOYALTY_REWARDED", "GOLD")
      story.store.sellOnce("com.example.coffer.coins")
      story.store.finishMassExtension(of: .premiumMonthly, succeeded: 3112, failed: 4)
      story.store.createExternalPurchaseToken()
      story.store.rescindConsent()
      story.deliverAll(.premium())
    },
  ]

  private static let refunded = StoryExpectation.free("refunded", "revoked")
}

extension AppleRecorder {
  /// A subscription that was bought, cancelled and has ended.
  fileprivate func lapse() -> String {
    let id = buy()
    go(.days(6))
    store.turnOffRenewal(id)
    deliver(.premium())
    let over = Expectation.free("lapsed", "expired")
    go(to: store.expiry(of: id))
    deliver(over)
    return id
  }
}
