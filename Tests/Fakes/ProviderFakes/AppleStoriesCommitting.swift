import Base

extension AppleStory {
  /// Seats that someone else pays for, and yearly commitments that are paid monthly.
  static let committing = [
    AppleStory(
      "seat-taken-back",
      "A seat belongs to the account that its own token names, until its buyer takes it back"
    ) { story in
      let buyer = story.store.buy(.premiumMonthly, for: nil)
      story.deliver(.nobody)
      story.go(.days(1))
      let seat = story.store.assign(buyer, to: story.account)
      story.deliver(.premium())
      story.go(to: story.store.expiry(of: buyer) - story.store.settings.renewalLead)
      story.deliver(.premium(), .premium())
      story.go(.days(8))
      story.store.takeBack(seat: seat)
      story.deliver(refunded)
      story.renew(buyer, refunded)
    },
    AppleStory(
      "seat-of-another", "Seats of others come and go; their buyer keeps what is the buyer's own"
    ) { story in
      let buyer = story.buy()
      story.go(.days(2))
      let seat = story.store.assign(buyer, to: Identifier(high: 0x4000, low: 0x8000 << 48))
      story.deliver(.premium())
      story.go(.days(3))
      story.store.takeBack(seat: seat)
      story.deliver(.premium())
      story.renew(buyer, .premium())
    },
    AppleStory(
      "seat-without-token", "A seat whose app names no account waits for its holder's claim"
    ) { story in
      let buyer = story.store.buy(.premiumMonthly, for: nil)
      story.deliver(.nobody)
      let seat = story.store.assign(buyer, to: story.account, namesAccount: false)
      story.deliver(.nobody)
      story.claim(seat, .premium())
    },
    AppleStory(
      "commitment-cancelled",
      "A year paid by the month goes on after its cancel, and ends exactly with its last month"
    ) { story in
      let id = story.buy(.premiumCommitment)
      story.renew(id, .premium())
      story.go(.days(3))
      story.store.turnOffRenewal(id)
      story.deliver(.premium())
      for _ in 3...12 { story.renew(id, .premium()) }
      let over = StoryExpectation.free("lapsed", "expired")
      story.edge(story.store.expiry(of: id), .premium(), over)
      story.deliver(over)
    },
    AppleStory(
      "commitment-failed", "A month that is not paid ends access at once: such plans have no grace"
    ) { story in
      let id = story.buy(.premiumCommitment)
      story.renew(id, .premium())
      story.store.breakCard(id)
      story.go(to: story.store.expiry(of: id))
      story.deliver(.free("payment_failed", "on_hold"))
      story.go(.days(70))
      story.store.repairCard(id)
      story.deliver(.premium())
      story.renew(id, .premium())
    },
    AppleStory(
      "commitment-failed-lapse", "A month that nobody pays is given up after 90 days"
    ) { story in
      let id = story.buy(.premiumCommitment)
      let end = story.store.expiry(of: id)
      story.store.breakCard(id)
      story.go(to: end)
      story.deliver(.free("payment_failed", "on_hold"))
      story.go(to: end + .days(90))
      story.deliver(.free("payment_failed", "expired"))
    },
    AppleStory(
      "commitment-refund-current", "A refund of the month under way ends the commitment with it"
    ) { story in
      let id = story.buy(.premiumCommitment)
      story.renew(id, .premium())
      story.go(.days(9))
      story.store.refund(story.store.latestTransaction(of: id))
      story.deliver(.premium(), refunded)
      story.time(story.store.expiry(of: id) + .days(2), refunded)
    },
    AppleStory(
      "commitment-refund-earlier", "A refund of an earlier month leaves the commitment alone"
    ) { story in
      let id = story.buy(.premiumCommitment)
      story.renew(id, .premium())
      story.go(.days(9))
      story.store.refund(id)
      story.deliver(.premium())
      story.renew(id, .premium())
    },
  ]

  private static let refunded = StoryExpectation.free("refunded", "revoked")
}
