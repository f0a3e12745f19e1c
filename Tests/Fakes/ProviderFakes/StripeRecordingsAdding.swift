import Base

/// A plan and its additions on one subscription.
extension StripeRecording {
  static let adding: [StripeRecording] = [
    StripeRecording(
      "addition-bought-together",
      "A plan and an addition bought together add up, and renew together"
    ) { story in
      let sub = story.buy(with: [.extraMonthly], paid: .subscribed.extra)
      let renewed = story.periodEnd(sub)
      story.time(renewed - .seconds(1), .subscribed.extra)
      story.go(to: renewed)
      story.subscription("updated", .leeway.extra)
      story.go(to: renewed + .hours(1))
      story.invoice("paid", .subscribed.extra)
      let end = story.periodEnd(sub)
      story.edge(end, .subscribed.extra, .leeway.extra)
      story.time(end + StoryExpectation.leewaySpan, .lapsed)
    },
    StripeRecording(
      "addition-then-failed-renewal",
      "An addition bought within the month adds; a failed renewal is grace for both"
    ) { story in
      let sub = buyWithin(story)
      let renewed = story.periodEnd(sub)
      story.store.setCard(of: sub, .declines)
      story.go(to: renewed + .hours(1))
      story.invoice("payment_failed", .grace.extra)
      story.subscription("updated", .grace.extra, newest: true)
      story.edge(renewed + StoryExpectation.graceSpan, .grace.extra, .unpaid)
    },
    StripeRecording(
      "addition-cancelled",
      "A cancelled addition ends where its unused time is given back; the plan goes on"
    ) { story in
      let sub = buyWithin(story)
      story.go(.days(10))
      story.store.remove(.extraMonthly, from: sub)
      story.subscription("updated", .subscribed)
      story.invoice("paid", .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "addition-stays-while-the-plan-changes",
      "The plan changes from month to year while the monthly addition stays"
    ) { story in
      let sub = story.buy(with: [.extraMonthly], paid: .subscribed.extra)
      let month = story.periodEnd(sub)
      story.go(.days(10))
      story.store.changePrice(of: sub, to: .premiumYearly)
      story.subscription("updated", .subscribed.extra)
      story.invoice("paid", .subscribed.extra)
      // The addition's own month is over, and its renewal was not seen. Then the addition ends, but the year
      // does not.
      story.edge(month, .subscribed.extra, .subscribed.extra)
      story.time(month + StoryExpectation.leewaySpan, .subscribed)
      story.time(story.periodEnd(sub) - .seconds(1), .subscribed)
    },
    StripeRecording(
      "addition-refunded-alone", "A refund of the addition alone leaves the plan as it is"
    ) { story in
      let sub = buyWithin(story)
      story.go(.days(2))
      story.giveBack(story.store.latestInvoice(of: sub), .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "plan-by-year-and-addition-by-month",
      "A plan by the year and an addition by the month renew and fail each by itself"
    ) { story in
      let sub = story.buy(.premiumYearly)
      story.go(.days(10))
      let renewed = story.clock.now.adding(months: 1)
      story.store.add(.extraMonthly, to: sub)
      story.subscription("updated", .subscribed.extra)
      story.invoice("paid", .subscribed.extra)
      story.time(renewed - .seconds(1), .subscribed.extra)
      story.store.setCard(of: sub, .declines)
      story.go(to: renewed + .hours(1))
      story.invoice("payment_failed", .subscribed.extra)
      story.subscription("updated", .subscribed.extra, newest: true)
      // The year is paid, but its addition is not.
      story.edge(renewed + StoryExpectation.graceSpan, .subscribed.extra, .subscribed)
    },
  ]

  /// The addition is bought ten days after the plan, for the rest of the month.
  private static func buyWithin(_ story: StripeRecorder) -> String {
    let sub = story.buy()
    story.go(.days(10))
    story.store.add(.extraMonthly, to: sub)
    // The snapshot has the item before its payment is reported: the item is included with the plan.
    story.subscription("updated", .subscribed.extra)
    story.invoice("paid", .subscribed.extra)
    story.payment(.subscribed.extra)
    return sub
  }
}
