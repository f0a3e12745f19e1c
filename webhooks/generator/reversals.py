"""Stories of money that goes back."""

from . import api, objects, payments
from .payments import Dispute, Refund
from .stories import ALL, BOTH, end, telling
from .story import DAY, HOUR, LEEWAY, MINUTE, SECOND, SUBSCRIBED, Story, free, premium

REVOKED = free("refunded", "revoked")
CONTESTED = premium("contested")


def buy(story: Story):
    sub, first = story.buy()
    story.payment_event(first, SUBSCRIBED)
    return sub, first


def renew(story: Story, sub, number: int):
    """A renewal that is paid an hour after the period begins."""
    before, renewed = sub.period[0], story.turn(sub)
    inv = story.invoice(sub, number, "subscription_cycle", renewed, period=(before, renewed))
    story.subscription_event("updated", sub, renewed + 3, LEEWAY, previous=story.previous_period)
    inv.pay(renewed + HOUR)
    story.invoice_event("paid", inv, renewed + HOUR, SUBSCRIBED)
    story.payment_event(inv, SUBSCRIBED)
    return inv


def give_back(story: Story, made: list[Refund], expected):
    """The newest of an invoice's refunds, as each version tells of it."""
    newest = made[-1]
    shown = [payments.refund(one) for one in reversed(made)]
    if story.version != api.Y2020:
        event = story.event("refund.created", newest.created, shown[0], asked=True)
        story.deliver(event, expected)
    total = sum(one.amount for one in made)
    charge = objects.charge(newest.invoice, total, refunds=shown)
    event = story.event(
        "charge.refunded", newest.created, charge, asked=True,
        previous={"amount_refunded": total - newest.amount, "receipt_url": None})
    story.deliver(event, expected, at=newest.created + 3)


@telling("A refund of the current period ends access then, whatever the subscription says", ALL)
def refund_of_the_current_period(story: Story):
    sub, first = buy(story)
    at = story.start + 10 * DAY
    story.clock(at - SECOND, SUBSCRIBED)
    give_back(story, [Refund("all", first, first.due, at)], REVOKED)
    story.clock(at + DAY, REVOKED)
    end(story, sub, at + 2 * DAY, REVOKED, "cancellation_requested", asked=True)
    story.clock(sub.period[1], REVOKED)


@telling("A refund of an earlier period leaves current access as it is", ALL)
def refund_of_an_earlier_period(story: Story):
    sub, first = buy(story)
    renew(story, sub, 2)
    at = sub.period[0] + 5 * DAY
    give_back(story, [Refund("all", first, first.due, at)], SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("A refund that itself fails brings access back", ALL)
def refund_that_fails(story: Story):
    sub, first = buy(story)
    at = story.start + 10 * DAY
    made = Refund("all", first, first.due, at)
    give_back(story, [made], REVOKED)
    story.clock(at + 4 * DAY, REVOKED)
    failed = payments.refund(made._replace(status="failed", failure="expired_or_canceled_card"))
    kind = "charge.refund.updated" if story.version == api.Y2020 else "refund.failed"
    event = story.event(
        kind, at + 5 * DAY, failed, previous={"status": "succeeded"})
    story.deliver(event, SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)


@telling("Two refunds of parts take the period back when together they are all of it", ALL)
def refunds_of_parts(story: Story):
    sub, first = buy(story)
    part = first.due * 2 // 5
    made = [Refund("part", first, part, story.start + 5 * DAY)]
    give_back(story, made, SUBSCRIBED)
    story.clock(story.start + 9 * DAY - SECOND, SUBSCRIBED)
    made.append(Refund("rest", first, first.due - part, story.start + 9 * DAY))
    give_back(story, made, REVOKED)
    story.clock(sub.period[1], REVOKED)


def contest(story: Story, first) -> Dispute:
    """The customer's bank takes the money back and asks for reasons."""
    at = story.start + 4 * DAY
    opened = Dispute(first, at)
    story.deliver(
        story.event("charge.dispute.created", at, payments.dispute(opened)), CONTESTED)
    withdrawn = opened._replace(is_withdrawn=True)
    story.deliver(
        story.event(
            "charge.dispute.funds_withdrawn", at + MINUTE, payments.dispute(withdrawn),
            previous={"balance_transactions": []}),
        CONTESTED)
    answered = withdrawn._replace(status="under_review", has_evidence=True)
    story.deliver(
        story.event(
            "charge.dispute.updated", at + 3 * DAY, payments.dispute(answered), asked=True,
            previous={"status": "needs_response"}),
        CONTESTED)
    return answered


@telling("A dispute is only noted while open, and takes its period back when lost", (api.ACACIA, *BOTH))
def dispute_lost(story: Story):
    sub, first = buy(story)
    opened = contest(story, first)
    at = story.start + 20 * DAY
    story.clock(at - SECOND, CONTESTED)
    lost = payments.dispute(opened._replace(status="lost"))
    event = story.event("charge.dispute.closed", at, lost, previous={"status": "under_review"})
    story.deliver(event, REVOKED)
    end(story, sub, at + HOUR, REVOKED, "payment_disputed")
    story.clock(sub.period[1], REVOKED)


@telling("A dispute that is won changes nothing", (api.ACACIA, *BOTH))
def dispute_won(story: Story):
    sub, first = buy(story)
    opened = contest(story, first)
    at = story.start + 20 * DAY
    won = opened._replace(status="won")
    story.deliver(
        story.event(
            "charge.dispute.closed", at, payments.dispute(won),
            previous={"status": "under_review"}),
        SUBSCRIBED)
    story.deliver(
        story.event(
            "charge.dispute.funds_reinstated", at + MINUTE,
            payments.dispute(won._replace(is_reinstated=True)),
            previous={"balance_transactions": []}),
        SUBSCRIBED)
    story.clock(sub.period[1] - SECOND, SUBSCRIBED)
    story.clock(sub.period[1], LEEWAY)
