"""Stories of a plan and what is added to it on one subscription."""

from .catalogue import EXTRA, EXTRA_BYTES, MONTHLY, YEARLY
from .reversals import give_back
from .payments import Refund
from .stories import ALL, GRACE_SPAN, LAPSED, LEEWAY_SPAN, UNPAID, telling
from .story import (
    DAY, GRACE, HOUR, LEEWAY, SECOND, SUBSCRIBED, Line, Story, free, months_later,
)


def more(expected):
    """The same with the addition on top."""
    return expected._replace(more=EXTRA_BYTES)


def proration(addition, at: int, credits=None) -> Line:
    """The rest of the addition's period, to be paid or given back."""
    start, end = addition.period
    amount = round(addition.price.amount * (end - at) / (end - start))
    words = "Unused time on" if credits else "Remaining time on"
    return Line(
        addition.price, -amount if credits else amount, (at, end),
        f"{words} {addition.price.title}", True, credits, addition.item)


def buy_within(story: Story, at: int):
    """The addition is bought in the middle of the month, for the rest of it."""
    sub, first = story.buy()
    addition = story.addition(EXTRA, sub.period)
    second = story.invoice(sub, 2, "subscription_update", at, [proration(addition, at)])
    sub.additions.append(addition)
    second.pay(at + 1)
    # The snapshot has the item before anybody told of its payment: it goes along with the plan.
    story.subscription_event("updated", sub, at, more(SUBSCRIBED), asked=True)
    story.invoice_event("paid", second, at + 1, more(SUBSCRIBED))
    story.payment_event(second, more(SUBSCRIBED))
    return sub, first, second


def turn(story: Story, sub):
    """The next month begins for the plan and for the addition; returns its invoice."""
    before, renewed = sub.period[0], story.turn(sub)
    sub.additions = [one._replace(period=sub.period) for one in sub.additions]
    return story.invoice(sub, 3, "subscription_cycle", renewed, period=(before, renewed))


@telling("A plan and an addition bought together add up, and renew together", ALL)
def addition_bought_together(story: Story):
    sub, _ = story.buy(paid=more(SUBSCRIBED), additions=(EXTRA,))
    renewal = turn(story, sub)
    renewed = sub.period[0]
    story.clock(renewed - SECOND, more(SUBSCRIBED))
    story.subscription_event(
        "updated", sub, renewed + 3, more(LEEWAY), previous=story.previous_period)
    renewal.pay(renewed + HOUR)
    story.invoice_event("paid", renewal, renewed + HOUR, more(SUBSCRIBED))
    story.clock(sub.period[1] - SECOND, more(SUBSCRIBED))
    story.clock(sub.period[1], more(LEEWAY))
    story.clock(sub.period[1] + LEEWAY_SPAN, LAPSED)


@telling("An addition bought within the month adds; a failed renewal is grace for both", ALL)
def addition_then_failed_renewal(story: Story):
    sub, _, _ = buy_within(story, story.start + 10 * DAY)
    renewal = turn(story, sub)
    renewed = sub.period[0]
    renewal.fail(renewed + HOUR, next_attempt=renewed + 8 * DAY)
    story.invoice_event("payment_failed", renewal, renewed + HOUR, more(GRACE))
    sub.status = "past_due"
    story.subscription_event(
        "updated", sub, renewed + HOUR + 1, more(GRACE), previous={"status": "active"})
    story.clock(renewed + GRACE_SPAN - SECOND, more(GRACE))
    story.clock(renewed + GRACE_SPAN, UNPAID)


@telling("A cancelled addition ends where its unused time is given back; the plan goes on", ALL)
def addition_cancelled(story: Story):
    sub, _, second = buy_within(story, story.start + 10 * DAY)
    at = story.start + 20 * DAY
    credit = proration(sub.additions[0]._replace(period=sub.period), at, second.id)
    third = story.invoice(sub, 4, "subscription_update", at, [credit])
    sub.additions = []
    third.pay(at + 1)
    story.subscription_event("updated", sub, at, SUBSCRIBED, asked=True)
    story.invoice_event("paid", third, at + 1, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("The plan changes from month to year while the monthly addition stays", ALL)
def addition_stays_while_the_plan_changes(story: Story):
    sub, first = story.buy(paid=more(SUBSCRIBED), additions=(EXTRA,))
    at = story.start + 10 * DAY
    month = sub.period
    unused = round(MONTHLY.amount * (month[1] - at) / (month[1] - month[0]))
    year = (at, months_later(at, 12))
    lines = [
        Line(MONTHLY, -unused, (at, month[1]), f"Unused time on {MONTHLY.title}", True, first.id),
        Line(
            YEARLY, YEARLY.amount, year,
            f"1 × {YEARLY.title} (at ${YEARLY.amount / 100:.2f} / year)"),
    ]
    sub.price, sub.period, sub.anchor = YEARLY, year, at
    second = story.invoice(sub, 2, "subscription_update", at, lines)
    story.subscription_event("updated", sub, at, more(SUBSCRIBED), asked=True)
    second.pay(at + 1)
    story.invoice_event("paid", second, at + 1, more(SUBSCRIBED))
    story.clock(month[1] - SECOND, more(SUBSCRIBED))
    # The addition's own month is over and its renewal not seen; then it is gone, the year is not.
    story.clock(month[1], more(SUBSCRIBED))
    story.clock(month[1] + LEEWAY_SPAN, SUBSCRIBED)
    story.clock(year[1] - SECOND, SUBSCRIBED)


@telling("A refund of the addition alone leaves the plan as it is", ALL)
def addition_refunded_alone(story: Story):
    sub, _, second = buy_within(story, story.start + 10 * DAY)
    at = story.start + 12 * DAY
    give_back(story, [Refund("all", second, second.due, at)], SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)
