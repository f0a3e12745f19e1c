"""Stories of plans, customers and payment methods that change."""

from copy import deepcopy

from . import api, objects
from .catalogue import MONTHLY, YEARLY
from .reversals import buy
from .stories import (
    BOTH, ENDED, LAPSED, LEEWAY_SPAN, UNPAID, cancel, end, telling, upgrade_lines,
)
from .story import (
    DAY, HOUR, LEEWAY, NOBODY, PENDING, SECOND, SUBSCRIBED, Line, Story, free, months_later,
    premium,
)

COURTESY = premium("courtesy")
THREE = (api.ACACIA, *BOTH)


@telling("Collection that is paused is no paused subscription: the month is given, then paid", THREE)
def collection_paused_and_resumed(story: Story):
    sub, _ = story.buy()
    sub.pause = {"behavior": "void", "resumes_at": None}
    story.subscription_event(
        "updated", sub, story.start + 20 * DAY, SUBSCRIBED, previous={"pause_collection": None},
        asked=True)
    renewed = story.turn(sub)
    forgone = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    story.subscription_event("updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
    forgone.finalize(renewed + HOUR)
    forgone.status, forgone.voided_at, forgone.auto_advance = "void", renewed + HOUR, False
    story.invoice_event("voided", forgone, renewed + HOUR, COURTESY)
    pause, sub.pause = sub.pause, None
    story.subscription_event(
        "updated", sub, renewed + 10 * DAY, COURTESY, previous={"pause_collection": pause},
        asked=True)
    story.clock(sub.period[1] - SECOND, COURTESY)
    again = story.turn(sub)
    paid = story.invoice(sub, 3, "subscription_cycle", again, period=(renewed, again))
    paid.pay(again + HOUR)
    story.invoice_event("paid", paid, again + HOUR, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)


def debit(story: Story):
    """A purchase by bank debit: everything is there but the money."""
    sub = story.subscription(status="active")
    first = story.invoice(sub, 1, "subscription_create", story.start)
    first.finalize(story.start + 1)
    first.attempted, first.attempt_count, first.auto_advance = True, 1, False
    session = story.session(sub)
    session.methods, session.outcome = ("sepa_debit",), "unpaid"
    story.clock(story.start - 60, NOBODY)
    story.session_event(session, story.start + 2, PENDING)
    # Of a subscription alone it would be said that its payment has merely not been seen.
    story.invoice_event("finalized", first, story.start + 3, PENDING, at=story.start + 5)
    story.subscription_event("created", sub, story.start + 2, PENDING, at=story.start + 6)
    story.clock(story.start + 4 * DAY, PENDING)
    return sub, first, session


@telling("A bank debit grants nothing until the money is there, days after the session", THREE)
def delayed_payment(story: Story):
    sub, first, session = debit(story)
    at = story.start + 5 * DAY
    first.pay(at)
    session.outcome = "paid"
    story.session_event(session, at, PENDING, kind="async_payment_succeeded")
    story.invoice_event("paid", first, at, SUBSCRIBED, at=at + 4)
    story.payment_event(first, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A bank debit that bounces has granted nothing, and the subscription ends", THREE)
def delayed_payment_fails(story: Story):
    sub, first, session = debit(story)
    at = story.start + 5 * DAY
    story.session_event(session, at, PENDING, kind="async_payment_failed")
    first.fail(at, next_attempt=None)
    story.invoice_event("payment_failed", first, at, PENDING, at=at + 3)
    sub.status = "past_due"
    missing = free("never_subscribed", "on_hold")
    story.subscription_event("updated", sub, at + 1, missing, at=at + 5,
                             previous={"status": "active"})
    end(story, sub, at + 2 * DAY, free("never_subscribed", "expired"), "payment_failed")


@telling("A change from year to month ends with the month; the year does not come back", BOTH)
def downgrade_to_month(story: Story):
    sub, first = story.buy(YEARLY)
    at = story.start + 40 * DAY
    before = deepcopy(sub)
    month = (at, months_later(at, 1))
    year = before.period
    unused = round(YEARLY.amount * (year[1] - at) / (year[1] - year[0]))
    lines = [
        Line(YEARLY, -unused, (at, year[1]), f"Unused time on {YEARLY.title}", True, first.id),
        Line(
            MONTHLY, MONTHLY.amount, month,
            f"1 × {MONTHLY.title} (at ${MONTHLY.amount / 100:.2f} / month)"),
    ]
    sub.price, sub.period, sub.anchor = MONTHLY, month, at
    second = story.invoice(sub, 2, "subscription_update", at, lines)
    story.subscription_event(
        "updated", sub, at, SUBSCRIBED, asked=True, previous={
            "billing_cycle_anchor": before.anchor, "items": {"data": objects.items(before)},
            "latest_invoice": before.latest_invoice,
        })
    second.pay(at + 1)
    story.invoice_event("paid", second, at + 1, SUBSCRIBED, at=at + 5)
    renewed = story.turn(sub)
    story.clock(renewed, LEEWAY)
    # What the year was still worth pays the next months.
    third = story.invoice(sub, 3, "subscription_cycle", renewed, period=month)
    third.balance = second.total
    third.pay(renewed + HOUR)
    story.invoice_event("paid", third, renewed + HOUR, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)
    story.clock(sub.period[1] + LEEWAY_SPAN, LAPSED)


@telling("An upgrade that waits for its payment and never gets it leaves the plan as it was", BOTH)
def pending_update_expires(story: Story):
    sub, first = story.buy()
    at = story.start + 10 * DAY
    changed = deepcopy(sub)
    lines = upgrade_lines(sub, at, first)
    second = story.invoice(changed, 2, "subscription_update", at, lines)
    sub.latest_invoice = second.id
    changed.price, changed.period = YEARLY, lines[1].period
    sub.pending_update = {
        "billing_cycle_anchor": at, "discounts": None, "expires_at": at + 23 * HOUR,
        "metadata": None, "subscription_items": objects.items(changed), "trial_end": None,
        "trial_from_plan": False,
    }
    story.subscription_event(
        "updated", sub, at, SUBSCRIBED, asked=True,
        previous={"latest_invoice": first.id, "pending_update": None})
    second.fail(at, next_attempt=None)
    story.invoice_event("payment_action_required", second, at, SUBSCRIBED, at=at + 3)
    sub.pending_update = None
    gone = at + 23 * HOUR
    story.subscription_event("pending_update_expired", sub, gone, SUBSCRIBED)
    second.status, second.voided_at = "void", gone
    story.invoice_event("voided", second, gone, SUBSCRIBED, at=gone + 3)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A renewal written off as bad debt gives nothing, though the subscription is active", BOTH)
def renewal_written_off(story: Story):
    sub, _ = story.buy()
    renewed = story.turn(sub)
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    story.subscription_event("updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
    second.finalize(renewed + HOUR)
    second.status, second.uncollectible_at = "uncollectible", renewed + 2 * HOUR
    second.auto_advance = False
    story.invoice_event("marked_uncollectible", second, renewed + 2 * HOUR, UNPAID)
    story.clock(renewed + DAY, UNPAID)


@telling("A customer who is deleted at Stripe has nothing from then on", BOTH)
def customer_deleted(story: Story):
    sub, _ = story.buy()
    at = story.start + 12 * DAY
    story.deliver(
        story.event(
            "customer.deleted", at, objects.customer(sub, story.start, objects.EMAIL), asked=True),
        ENDED)
    end(story, sub, at, ENDED, "cancellation_requested", asked=True)
    story.clock(sub.period[1], ENDED)


@telling("Who cancelled and comes back buys a new subscription, which counts by itself", BOTH)
def resubscribe(story: Story):
    sub, _ = buy(story)
    cancel(story, sub, story.start + 9 * DAY, flag=True)
    story.clock(sub.period[1], ENDED)
    end(story, sub, sub.period[1], ENDED, "cancellation_requested")
    # The label told is that of the subscription with the lowest id, so that must be the new one.
    names = (f"again {number}" for number in range(64))
    again = next(
        one for one in (story.subscription(name=name) for name in names) if one.id < sub.id)
    at = sub.period[1] + 20 * DAY
    again.created, again.anchor, again.period = at, at, (at, months_later(at, 1))
    first = story.invoice(again, 9, "subscription_create", at)
    first.pay(at + 1)
    story.clock(at - SECOND, ENDED)
    session = story.session(again)
    session.id, session.created = story.id("cs", "again"), at - 240
    story.subscription_event("created", again, at + 2, LEEWAY)
    story.invoice_event("paid", first, at + 3, SUBSCRIBED)
    story.session_event(session, at + 4, SUBSCRIBED)
    story.clock(again.period[1] - SECOND, SUBSCRIBED)
    story.clock(again.period[1], LEEWAY)
