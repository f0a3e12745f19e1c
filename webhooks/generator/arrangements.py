"""Stories of pauses, of invoices that are sent, and of money by other ways than a card."""

from . import payments
from .additions import more
from .catalogue import EXTRA, YEARLY
from .changes import COURTESY
from .reversals import REVOKED, buy, contest
from .stories import (
    ALL, GRACE_SPAN, LAPSED, LEEWAY_SPAN, NEWEST, UNPAID, renewal_fails, telling,
)
from .story import (
    DAY, GRACE, HOUR, LEEWAY, MINUTE, NOBODY, SECOND, SUBSCRIBED, Story, free, months_later,
    period_line,
)

PAUSED = free("lapsed", "paused")


def begin(story: Story, days_until_due=None):
    """The seller makes the subscription, so that there is no page and no first payment."""
    sub = story.subscription(status="active")
    sub.days_until_due = days_until_due
    story.clock(story.start - MINUTE, NOBODY)
    return sub


@telling("An invoice that was sent is access until it is due, and paid for once it is paid", ALL)
def sent_invoice_paid(story: Story):
    sub = begin(story, days_until_due=30)
    first = story.invoice(sub, 1, "subscription_create", story.start)
    first.finalize(story.start + HOUR)
    story.invoice_event("finalized", first, story.start + HOUR, NOBODY)
    story.subscription_event("created", sub, story.start, COURTESY, at=story.start + HOUR + 5)
    story.clock(story.start + 20 * DAY - SECOND, COURTESY)
    first.pay(story.start + 20 * DAY)
    story.invoice_event("paid", first, story.start + 20 * DAY, SUBSCRIBED)
    story.payment_event(first, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A renewal that was sent and never paid is access until it is due, then grace, then none", ALL)
def sent_invoice_never_paid(story: Story):
    sub = begin(story, days_until_due=14)
    first = story.invoice(sub, 1, "subscription_create", story.start)
    first.pay(story.start + HOUR)
    story.invoice_event("paid", first, story.start + HOUR, NOBODY)
    story.subscription_event("created", sub, story.start, SUBSCRIBED, at=story.start + HOUR + 5)
    renewed = story.turn(sub)
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    story.subscription_event("updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
    second.finalize(renewed + HOUR)
    story.invoice_event("finalized", second, renewed + HOUR, COURTESY)
    due = second.due_at
    story.clock(due - SECOND, COURTESY)
    story.clock(due, GRACE)
    sub.status = "past_due"
    story.subscription_event("updated", sub, due + MINUTE, GRACE, previous={"status": "active"})
    story.clock(due + GRACE_SPAN - SECOND, GRACE)
    story.clock(due + GRACE_SPAN, UNPAID)


@telling("Money that came by other ways than Stripe's pays for its period", ALL)
def paid_outside_stripe(story: Story):
    sub = begin(story)
    first = story.invoice(sub, 1, "subscription_create", story.start)
    first.is_paid_outside = True
    first.pay(story.start + HOUR)
    story.invoice_event("paid", first, story.start + HOUR, NOBODY)
    story.subscription_event("created", sub, story.start, SUBSCRIBED, at=story.start + HOUR + 5)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)
    story.clock(sub.period[1] + LEEWAY_SPAN, LAPSED)


@telling("An active subscription that names no invoice is a day of leeway, and no more", ALL)
def active_without_an_invoice(story: Story):
    sub = begin(story)
    story.subscription_event("created", sub, story.start, LEEWAY)
    story.clock(story.start + LEEWAY_SPAN - SECOND, LEEWAY)
    story.clock(story.start + LEEWAY_SPAN, LAPSED)


@telling("A plan by the year and an addition by the month renew and fail each by itself", ALL)
def plan_by_year_and_addition_by_month(story: Story):
    sub, _ = story.buy(YEARLY)
    at = story.start + 10 * DAY
    addition = story.addition(EXTRA, (at, months_later(at, 1)))
    sub.additions.append(addition)
    second = story.invoice(
        sub, 2, "subscription_update", at, [period_line(EXTRA, addition.period, addition.item)])
    second.pay(at + 1)
    story.subscription_event("updated", sub, at, more(SUBSCRIBED), asked=True)
    story.invoice_event("paid", second, at + 1, more(SUBSCRIBED))
    renewed = addition.period[1]
    story.clock(renewed - SECOND, more(SUBSCRIBED))
    month = (renewed, months_later(renewed, 1))
    sub.additions = [addition._replace(period=month)]
    third = story.invoice(
        sub, 3, "subscription_cycle", renewed, [period_line(EXTRA, month, addition.item)])
    third.fail(renewed + HOUR, next_attempt=renewed + 8 * DAY)
    story.invoice_event("payment_failed", third, renewed + HOUR, more(SUBSCRIBED))
    sub.status = "past_due"
    story.subscription_event(
        "updated", sub, renewed + HOUR + 1, more(SUBSCRIBED), previous={"status": "active"})
    story.clock(renewed + GRACE_SPAN - SECOND, more(SUBSCRIBED))
    # The year is paid; only what was added to it is not.
    story.clock(renewed + GRACE_SPAN, SUBSCRIBED)


# What only the newest versions tell of


def pause(story: Story, sub, reason: str, at: int, expected):
    before, sub.status, sub.paused = sub.status, "paused", (reason, at)
    story.subscription_event("paused", sub, at, expected, previous={"status": before})


def resume(story: Story, sub, at: int, expected):
    sub.status, sub.paused = "active", None
    story.subscription_event(
        "resumed", sub, at, expected, previous={"status": "paused"}, asked=True)


@telling("A pause on request ends access then; resumed, a new period is paid for", NEWEST)
def paused_on_request_and_resumed(story: Story):
    sub, _ = story.buy()
    at = story.start + 10 * DAY
    story.clock(at - SECOND, SUBSCRIBED)
    sub.period = (sub.period[0], at)
    pause(story, sub, "pause_requested", at, PAUSED)
    again = at + 30 * DAY
    story.clock(again, PAUSED)
    sub.period, sub.anchor = (again, months_later(again, 1)), again
    second = story.invoice(sub, 2, "subscription_update", again)
    second.pay(again + 1)
    story.invoice_event("paid", second, again + 1, PAUSED)
    resume(story, sub, again + 2, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A pause because a payment failed is grace, then none; paid and resumed, access is back", NEWEST)
def paused_after_a_failed_payment(story: Story):
    sub, second = renewal_fails(story)
    renewed = sub.period[0]
    pause(story, sub, "first_payment_failure", renewed + HOUR + 2, GRACE)
    story.clock(renewed + GRACE_SPAN - SECOND, GRACE)
    story.clock(renewed + GRACE_SPAN, free("payment_failed", "paused"))
    second.pay(renewed + 10 * DAY)
    story.invoice_event(
        "paid", second, renewed + 10 * DAY, free("payment_failed", "paused"))
    resume(story, sub, renewed + 10 * DAY + 5, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A dispute that was lost and is won on appeal gives the period back", NEWEST)
def dispute_appealed_and_won(story: Story):
    sub, first = buy(story)
    opened = contest(story, first)
    for day, status, before, expected in (
        (12, "lost", "under_review", REVOKED), (14, "appeal_needs_response", "lost", REVOKED),
        (16, "appeal_under_review", "appeal_needs_response", REVOKED),
        (22, "won", "appeal_under_review", SUBSCRIBED),
    ):
        at = story.start + day * DAY
        kind = "closed" if status in ("lost", "won") else "updated"
        event = story.event(
            f"charge.dispute.{kind}", at, payments.dispute(opened._replace(status=status)),
            previous={"status": before})
        story.deliver(event, expected)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A renewal that the seller forgave is given; one written off for another reason is not", NEWEST)
def renewal_forgiven_to_the_user(story: Story):
    sub, _ = story.buy()
    for number, reason, expected in (
        (2, "user_forgiven", COURTESY), (3, "payment_not_received", UNPAID),
    ):
        before, renewed = sub.period[0], story.turn(sub)
        inv = story.invoice(
            sub, number, "subscription_cycle", renewed, period=(before, renewed))
        story.subscription_event(
            "updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
        inv.finalize(renewed + HOUR)
        inv.status, inv.uncollectible_at = "uncollectible", renewed + 2 * HOUR
        inv.uncollectible_reason, inv.auto_advance = reason, False
        story.invoice_event("marked_uncollectible", inv, renewed + 2 * HOUR, expected)
        story.clock(renewed + 2 * DAY, expected)
