import Base

/// Periods one after the other.
extension BTCPayStory {
  static let queueing = [
    BTCPayStory(
      "renewed-early", "What is paid before the end follows at the end"
    ) { story in
      let first = story.buy()
      story.go(.days(20))
      let second = story.buy(.premiumMonth, .premium())
      story.edge(story.end(first), .premium(), .premium())
      story.edge(story.end(second), .premium(), .ended)
    },
    BTCPayStory(
      "renewed-late", "What is paid after the end begins when it is paid"
    ) { story in
      let first = story.buy()
      story.edge(story.end(first), .premium(), .ended)
      story.go(.days(10))
      let second = story.buy(.premiumMonth, .free("lapsed", "pending"))
      story.edge(story.end(second), .premium(), .ended)
    },
    BTCPayStory(
      "a-stock-of-months", "Three months and a year that are paid in one day follow one another"
    ) { story in
      story.buy()
      story.buy(.premiumMonth, .premium())
      story.buy(.premiumYear, .premium())
      let last = story.buy(.premiumMonth, .premium())
      story.time(story.clock.now + .days(300), .premium())
      story.edge(story.end(last), .premium(), .ended)
    },
    BTCPayStory(
      "another-plan-waits", "A larger plan that is paid meanwhile begins at the end"
    ) { story in
      let first = story.buy()
      story.go(.days(5))
      let second = story.buy(.plusMonth, .premium())
      story.edge(story.end(first), .premium(), .plus())
      story.edge(story.end(second), .plus(), .ended)
    },
    BTCPayStory(
      "addition-beside", "An addition runs beside the plan, and its own periods follow one another"
    ) { story in
      let plan = story.buy(.premiumYear)
      story.go(.days(5))
      let first = story.buy(.extraMonth, .premium(), .premium().extra)
      let second = story.buy(.extraMonth, .premium().extra, .premium().extra)
      story.edge(story.end(first), .premium().extra, .premium().extra)
      story.edge(story.end(second), .premium().extra, .premium())
      story.edge(story.end(plan), .premium(), .ended)
    },
  ]
}
