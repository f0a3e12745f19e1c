"""Every story, told once; the versions that tell it are listed with it."""

from copy import deepcopy
from datetime import datetime, timezone
from typing import Callable, NamedTuple

from . import api, objects
from .catalogue import MONTHLY, STICKERS, UNKNOWN, YEARLY
from .story import (
    DAY, GRACE, HOUR, LEEWAY, MINUTE, NOBODY, PENDING, SECOND, SUBSCRIBED, TRIAL, Event, Line,
    Story, free, months_later, premium,
)

GRACE_SPAN = 7 * DAY
LEEWAY_SPAN = 26 * HOUR
LAPSED = free("lapsed", "renewal_pending")
ENDED = free("lapsed", "expired")
UNPAID = free("payment_failed", "on_hold")
UNPAID_ENDED = free("payment_failed", "expired")

BOTH = (api.BASIL, api.DAHLIA)
ALL = (api.Y2020, api.ACACIA, *BOTH)
NEWEST = (api.ENDIVE,)


class Telling(NamedTuple):
    name: str
    title: str
    versions: tuple[str, ...]
    tell: Callable[[Story], None]


TELLINGS: list[Telling] = []


def telling(title: str, versions: tuple[str, ...] = BOTH):
    def register(function: Callable[[Story], None]):
        name = function.__name__.replace("_", "-")
        TELLINGS.append(Telling(name, title, versions, function))
        return function
    return register


@telling(
    "The first purchase lifts the cap; without a renewal it ends after a day of leeway",
    (*ALL, *NEWEST))
def first_purchase(story: Story):
    sub, _ = story.buy()
    end = sub.period[1]
    story.clock(end - SECOND, SUBSCRIBED)
    story.clock(end, LEEWAY)
    story.clock(end + LEEWAY_SPAN - SECOND, LEEWAY)
    story.clock(end + LEEWAY_SPAN, LAPSED)


@telling("A renewal joins the first period without a seam", (*ALL, *NEWEST))
def renewal(story: Story):
    sub, _ = story.buy()
    end = sub.period[1]
    coming = story.invoice(sub, 2, "upcoming", end - 3 * DAY, period=sub.period)
    coming.id, sub.latest_invoice = None, api.identifier("in", f"{story.seed}/1")
    story.invoice_event("upcoming", coming, end - 3 * DAY, SUBSCRIBED)
    renewed = story.turn(sub)
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    # The snapshot has the new period already; nobody has paid it.
    story.subscription_event(
        "updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
    story.invoice_event("created", second, renewed + 3, LEEWAY, at=renewed + 7)
    second.finalize(renewed + HOUR)
    story.invoice_event("finalized", second, renewed + HOUR, LEEWAY)
    second.pay(renewed + HOUR + 4)
    story.invoice_event("paid", second, renewed + HOUR + 4, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)
    story.clock(sub.period[1] + LEEWAY_SPAN, LAPSED)


def renewal_fails(story: Story):
    """The second month begins and its card payment fails; grace begins."""
    sub, _ = story.buy()
    renewed = story.turn(sub)
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    story.subscription_event(
        "updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
    second.fail(renewed + HOUR, next_attempt=renewed + 3 * DAY)
    story.invoice_event("payment_failed", second, renewed + HOUR, GRACE)
    sub.status = "past_due"
    story.subscription_event(
        "updated", sub, renewed + HOUR + 1, GRACE, at=renewed + HOUR + 4,
        previous={"status": "active"})
    return sub, second


def retry_fails(story: Story, invoice, at: int, expected, next_attempt=None):
    invoice.fail(at, next_attempt)
    story.invoice_event("payment_failed", invoice, at, expected)


@telling("A failed renewal keeps access in grace until the card works again", (api.Y2020, *BOTH))
def failed_payment_grace_recovery(story: Story):
    sub, second = renewal_fails(story)
    renewed, end = sub.period
    retry_fails(story, second, renewed + 3 * DAY, GRACE, renewed + 5 * DAY)
    story.clock(renewed + 5 * DAY - SECOND, GRACE)
    second.pay(renewed + 5 * DAY)
    story.invoice_event("paid", second, renewed + 5 * DAY, SUBSCRIBED)
    sub.status = "active"
    story.subscription_event(
        "updated", sub, renewed + 5 * DAY + 1, SUBSCRIBED, previous={"status": "past_due"})
    story.clock(renewed + GRACE_SPAN, SUBSCRIBED)
    story.clock(end - SECOND, SUBSCRIBED)
    story.clock(end, LEEWAY)


@telling("A failed renewal ends access when its week of grace is over", (api.ACACIA, *BOTH))
def failed_payment_lapse(story: Story):
    sub, second = renewal_fails(story)
    renewed = sub.period[0]
    retry_fails(story, second, renewed + 3 * DAY, GRACE, renewed + 8 * DAY)
    story.clock(renewed + GRACE_SPAN - SECOND, GRACE)
    story.clock(renewed + GRACE_SPAN, UNPAID)
    retry_fails(story, second, renewed + 8 * DAY, UNPAID)
    end(story, sub, renewed + 8 * DAY + 1, UNPAID_ENDED, "payment_failed")
    story.clock(renewed + 30 * DAY, UNPAID_ENDED)


def end(story: Story, sub, at: int, expected, reason: str, asked: bool = False):
    sub.status, sub.ended_at, sub.cancellation_reason = "canceled", at, reason
    sub.canceled_at = sub.canceled_at or at
    story.subscription_event("deleted", sub, at, expected, asked=asked)


def cancel(story: Story, sub, at: int, flag: bool):
    """The customer cancels in the portal: by the flag, or with a date only."""
    sub.cancel_at_period_end, sub.cancel_at = flag, sub.period[1]
    sub.canceled_at, sub.cancellation_reason = at, "cancellation_requested"
    previous = {
        "cancel_at": None, "canceled_at": None, "cancellation_details": {"reason": None},
    }
    if flag:
        previous["cancel_at_period_end"] = False
    story.subscription_event("updated", sub, at, SUBSCRIBED, previous=previous, asked=True)
    sub.feedback = "unused"
    story.subscription_event(
        "updated", sub, at + 9, SUBSCRIBED, previous={"cancellation_details": {"feedback": None}},
        asked=True)


@telling("A cancel at the period's end ends exactly then: no grace, no leeway", ALL)
def cancel_at_period_end(story: Story):
    sub, _ = story.buy()
    cancel(story, sub, story.start + 9 * DAY, flag=True)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], ENDED)
    end(story, sub, sub.period[1], ENDED, "cancellation_requested")


@telling("A cancel with a date instead of the flag ends exactly then, too")
def cancel_at_date(story: Story):
    sub, _ = story.buy()
    cancel(story, sub, story.start + 9 * DAY, flag=False)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], ENDED)
    end(story, sub, sub.period[1], ENDED, "cancellation_requested")


@telling("A cancel taken back renews as if nothing had been")
def uncancel(story: Story):
    sub, _ = story.buy()
    cancel(story, sub, story.start + 9 * DAY, flag=True)
    previous = {
        "cancel_at": sub.cancel_at, "cancel_at_period_end": True, "canceled_at": sub.canceled_at,
        "cancellation_details": {"feedback": "unused", "reason": "cancellation_requested"},
    }
    sub.cancel_at_period_end, sub.cancel_at, sub.canceled_at = False, None, None
    sub.cancellation_reason, sub.feedback = None, None
    story.subscription_event(
        "updated", sub, story.start + 12 * DAY, SUBSCRIBED, previous=previous, asked=True)
    renewed = story.turn(sub)
    story.clock(renewed, LEEWAY)
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    second.pay(renewed + HOUR)
    story.invoice_event("paid", second, renewed + HOUR, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)


@telling("An immediate end by the seller ends access at once", (api.ACACIA, *BOTH))
def immediate_delete(story: Story):
    sub, _ = story.buy()
    story.clock(story.start + 10 * DAY, SUBSCRIBED)
    end(story, sub, story.start + 10 * DAY, ENDED, "cancellation_requested", asked=True)
    story.clock(sub.period[1], ENDED)


def begin_trial(story: Story, has_card: bool):
    sub = story.subscription(status="trialing", trial_days=14, has_card=has_card)
    words = f"Trial period for {sub.price.title}"
    first = story.invoice(
        sub, 1, "subscription_create", story.start, [Line(sub.price, 0, sub.period, words)])
    first.pay(story.start + 1)
    story.session_event(story.session(sub, amount=0), story.start + 2, PENDING)
    story.subscription_event("created", sub, story.start + 2, TRIAL, at=story.start + 5)
    # Nobody paid: a zero invoice announces the trial.
    story.invoice_event("paid", first, story.start + 3, TRIAL, at=story.start + 6)
    story.subscription_event("trial_will_end", sub, sub.period[1] - 3 * DAY, TRIAL)
    story.clock(sub.period[1] - SECOND, TRIAL)
    return sub


@telling("A trial gives the plan, its zero invoice no month, and the first payment does", ALL)
def trial_then_paid(story: Story):
    sub = begin_trial(story, has_card=True)
    renewed = story.turn(sub)
    story.clock(renewed, LEEWAY)
    sub.status = "active"
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    story.subscription_event(
        "updated", sub, renewed + 2, LEEWAY,
        previous={**story.previous_period, "status": "trialing"})
    second.pay(renewed + HOUR)
    story.invoice_event("paid", second, renewed + HOUR, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)


@telling("A trial that ends without a card is paused, and a resumption that is paid gives access")
def trial_then_paused(story: Story):
    sub = begin_trial(story, has_card=False)
    ended = sub.period[1]
    sub.status = "paused"
    story.subscription_event("paused", sub, ended + 2, free("lapsed", "paused"))
    story.clock(ended + 20 * DAY, free("lapsed", "paused"))
    resumed = ended + 20 * DAY
    sub.status, sub.payment_method, sub.anchor = "active", story.id("pm"), resumed
    sub.period = (resumed, months_later(resumed, 1))
    second = story.invoice(sub, 2, "subscription_update", resumed)
    second.pay(resumed + 1)
    story.invoice_event("paid", second, resumed + 1, premium("subscribed"))
    story.subscription_event("resumed", sub, resumed + 2, SUBSCRIBED, asked=True)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)


def upgrade_lines(sub, at: int, first) -> list[Line]:
    """Unused time of the month back, a whole year forward."""
    month = sub.period
    unused = round(MONTHLY.amount * (month[1] - at) / (month[1] - month[0]))
    return [
        Line(
            MONTHLY, -unused, (at, month[1]), f"Unused time on {MONTHLY.title}", True, first.id),
        Line(
            YEARLY, YEARLY.amount, (at, months_later(at, 12)),
            f"1 × {YEARLY.title} (at ${YEARLY.amount / 100:.2f} / year)"),
    ]


def upgrade(story: Story, sub, first, at: int, status: str):
    before = deepcopy(sub)
    lines = upgrade_lines(sub, at, first)
    sub.price, sub.period, sub.anchor = YEARLY, lines[1].period, at
    second = story.invoice(sub, 2, "subscription_update", at, lines)
    previous = {
        "billing_cycle_anchor": before.anchor, "items": {"data": objects.items(before)},
        "latest_invoice": before.latest_invoice,
    }
    if not story.is_basil:
        previous["current_period_end"], previous["current_period_start"] = reversed(before.period)
        previous["plan"] = objects.plan(before.price)
    if status != sub.status:
        previous["status"], sub.status = sub.status, status
    return second, previous


@telling("An upgrade from month to year begins the year at once and credits the month", ALL)
def upgrade_to_year(story: Story):
    sub, first = story.buy()
    at = story.start + 10 * DAY
    second, previous = upgrade(story, sub, first, at, "active")
    story.subscription_event("updated", sub, at, SUBSCRIBED, previous=previous, asked=True)
    second.pay(at + 1)
    story.invoice_event("paid", second, at + 1, SUBSCRIBED)
    story.clock(months_later(story.start, 1) + 2 * DAY, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)
    story.clock(sub.period[1] + LEEWAY_SPAN, LAPSED)


@telling("An upgrade whose proration stays unpaid leaves what was paid, then grace")
def upgrade_unpaid(story: Story):
    sub, first = story.buy()
    at, paid_until = story.start + 10 * DAY, sub.period[1]
    second, previous = upgrade(story, sub, first, at, "past_due")
    second.fail(at + 1, next_attempt=at + 3 * DAY)
    story.invoice_event("payment_failed", second, at + 1, SUBSCRIBED)
    story.subscription_event(
        "updated", sub, at + 1, SUBSCRIBED, at=at + 4, previous=previous, asked=True)
    story.clock(at + GRACE_SPAN + DAY, SUBSCRIBED)
    story.clock(paid_until - SECOND, SUBSCRIBED)
    story.clock(paid_until, GRACE)
    story.clock(paid_until + GRACE_SPAN, UNPAID)


@telling("Money of an unknown customer counts as soon as a session says whose it is")
def unknown_customer_linked_later(story: Story):
    sub = story.subscription(owned=False)
    first = story.invoice(sub, 1, "subscription_create", story.start)
    first.pay(story.start + 1)
    story.subscription_event("created", sub, story.start + 2, NOBODY)
    story.invoice_event("paid", first, story.start + 3, NOBODY)
    story.clock(story.start + 2 * HOUR, NOBODY)
    # Stripe repeats a delivery that failed for up to three days.
    session = story.event(
        "checkout.session.completed", story.start + 2,
        objects.checkout_session(story.session(sub)))
    story.deliver(session, SUBSCRIBED, at=story.start + DAY)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)


@telling("A product that no plan names grants nothing until a known one is bought")
def unmapped_price(story: Story):
    sub, _ = story.buy(UNKNOWN, paid=PENDING)
    at = story.start + 5 * DAY
    before = deepcopy(sub)
    sub.price, sub.period, sub.anchor = MONTHLY, (at, months_later(at, 1)), at
    second = story.invoice(sub, 2, "subscription_update", at)
    story.subscription_event(
        "updated", sub, at, PENDING, asked=True, previous={
            "billing_cycle_anchor": before.anchor, "items": {"data": objects.items(before)},
            "latest_invoice": before.latest_invoice,
        })
    second.pay(at + 1)
    story.invoice_event("paid", second, at + 1, SUBSCRIBED)


@telling("Another product of the same seller, named as such, grants no storage")
def ignored_product(story: Story):
    sub, _ = story.buy(STICKERS, paid=PENDING)
    story.clock(sub.period[1] - SECOND, PENDING)


@telling("Repeated deliveries change nothing; one id with two meanings is merged and told")
def duplicate_and_conflicting(story: Story):
    sub = story.subscription()
    first = story.invoice(sub, 1, "subscription_create", story.start)
    first.pay(story.start + 1)
    story.session_event(story.session(sub), story.start + 2, PENDING)
    story.subscription_event("created", sub, story.start + 2, LEEWAY, at=story.start + 5)
    paid = story.event("invoice.paid", story.start + 3, objects.invoice(first))
    story.deliver(paid, SUBSCRIBED)
    # A retry: signed anew, with both secrets of a rotation, and with other counters.
    paid.pending = 2
    story.deliver(paid, SUBSCRIBED, at=story.start + HOUR, answer="duplicate", rotated=True)
    shorter = deepcopy(first)
    shorter.lines = [
        first.lines[0]._replace(period=(first.lines[0].period[0], sub.period[1] - 10 * DAY))
    ]
    other = story.event("invoice.paid", story.start + 3, objects.invoice(shorter))
    other.id = paid.id
    story.deliver(other, SUBSCRIBED, at=story.start + 2 * HOUR, answer="conflicting")
    # Until the invoice is read again, what any of its two values owes is owed.
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1] + LEEWAY_SPAN, LAPSED)


@telling("A failed renewal told backwards: past_due first, the older snapshot after it")
def past_due_snapshot_before_invoice(story: Story):
    sub, _ = story.buy()
    renewed = story.turn(sub)
    second = story.invoice(sub, 2, "subscription_cycle", renewed, period=(story.start, renewed))
    turned = deepcopy(sub)
    sub.status = "past_due"
    failed = renewed + HOUR
    story.subscription_event(
        "updated", sub, failed + 1, GRACE, at=failed + 2, previous={"status": "active"})
    story.subscription_event(
        "updated", turned, renewed + 3, GRACE, at=failed + 5, previous=story.previous_period)
    second.fail(failed, next_attempt=renewed + 3 * DAY)
    story.invoice_event("payment_failed", second, failed, GRACE, at=failed + 6 * MINUTE)
    paid = renewed + 3 * DAY
    sub.status = "active"
    story.subscription_event(
        "updated", sub, paid + 1, GRACE, at=paid + 2, previous={"status": "past_due"})
    second.pay(paid)
    story.invoice_event("paid", second, paid, SUBSCRIBED, at=paid + 30)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)


@telling("Created, updated and deleted within one second, told backwards, is ended")
def one_second(story: Story):
    sub = story.subscription(status="incomplete")
    created = objects.subscription(sub)
    sub.status = "active"
    updated = objects.subscription(sub)
    sub.status, sub.canceled_at, sub.ended_at = "canceled", story.start, story.start
    sub.cancellation_reason = "cancellation_requested"
    deleted = objects.subscription(sub)
    gone = free("never_subscribed", "expired")
    for kind, state, delay in (
        ("deleted", deleted, 2), ("updated", updated, 3), ("created", created, 4),
    ):
        previous = {"status": "incomplete"} if kind == "updated" else None
        event = story.event(
            f"customer.subscription.{kind}", story.start, state, previous, asked=True)
        story.deliver(event, gone, at=story.start + delay)


@telling("A first payment that never succeeds gives nothing and expires after 23 hours")
def first_payment_expires(story: Story):
    sub = story.subscription(status="incomplete")
    first = story.invoice(sub, 1, "subscription_create", story.start)
    story.subscription_event("created", sub, story.start, PENDING, asked=True)
    first.fail(story.start + 1, next_attempt=None)
    story.invoice_event("payment_failed", first, story.start + 1, PENDING)
    expired = story.start + 23 * HOUR
    gone = free("never_subscribed", "expired")
    sub.status, sub.ended_at = "incomplete_expired", expired
    story.subscription_event(
        "updated", sub, expired, gone, previous={"ended_at": None, "status": "incomplete"})
    first.status, first.voided_at = "void", expired
    story.invoice_event("voided", first, expired + 1, gone)


@telling("A renewal paid after the subscription was deleted gives its period and renews nothing")
def paid_after_deletion(story: Story):
    sub, second = renewal_fails(story)
    renewed, until = sub.period
    gone = renewed + 2 * DAY
    end(story, sub, gone, UNPAID_ENDED, "cancellation_requested", asked=True)
    second.pay(gone + 2 * DAY)
    story.invoice_event("paid", second, gone + 2 * DAY, SUBSCRIBED)
    story.clock(until - SECOND, SUBSCRIBED)
    story.clock(until, ENDED)


@telling("What billing does not use is recorded and answered 200, a thin event to be read")
def everything_else_is_recorded(story: Story):
    sub, first = story.buy()
    at = story.start + DAY
    email = "zoe.angstrom@example.com"
    story.deliver(
        story.event(
            "customer.updated", at, objects.customer(sub, story.start, email),
            previous={"email": objects.EMAIL}, asked=True),
        SUBSCRIBED)
    # A part of the money only: the period stays.
    story.deliver(
        story.event(
            "charge.refunded", at + HOUR, objects.charge(first, refunded=100), asked=True,
            previous={"amount_refunded": 0, "receipt_url": None}),
        SUBSCRIBED)
    coming = story.invoice(
        sub, 2, "upcoming", sub.period[1] - 3 * DAY, period=sub.period)
    coming.id, sub.latest_invoice = None, first.id
    story.deliver(
        story.event(
            "billing.credit_grant.created", at + 2 * HOUR,
            objects.credit_grant(sub, story.seed, at + 2 * HOUR)),
        SUBSCRIBED)
    story.deliver(thin(story, sub, at + 3 * HOUR), SUBSCRIBED)
    story.invoice_event("upcoming", coming, sub.period[1] - 3 * DAY, SUBSCRIBED)


def thin(story: Story, sub, created: int) -> Event:
    """API v2: it names an object and carries none."""
    event = story.event("v1.customer.subscription.updated", created, {})
    when = datetime.fromtimestamp(created, timezone.utc)
    event.whole = {
        "id": event.id, "object": "v2.core.event", "context": None,
        "created": when.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "livemode": True,
        "reason": {
            "request": {"id": story.id("req", "thin"), "idempotency_key": ""}, "type": "request",
        },
        "related_object": {
            "id": sub.id, "type": "subscription", "url": f"/v1/subscriptions/{sub.id}",
        },
        "type": event.type,
    }
    return event
