"""One customer at a time: what happens at Stripe, what it delivers, and what must hold then."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import NamedTuple, Optional

from . import api, objects, payments
from .catalogue import CAPS, MONTHLY, Price

SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86_400
TARGET = "/webhooks/stripe"
METADATA_KEY = "coffer_account"


def months_later(moment: int, count: int) -> int:
    """Same day and time so many months later; stories begin before the 29th."""
    at = datetime.fromtimestamp(moment, timezone.utc)
    month = at.month - 1 + count
    return int(at.replace(year=at.year + month // 12, month=month % 12 + 1).timestamp())


def text(moment: int) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Expected(NamedTuple):
    """What the account has, and in which state its one subscription is; None without one."""

    plan: str
    reason: str
    label: Optional[str]
    # What comes on top of the plan, in bytes.
    more: int = 0

    def members(self) -> dict:
        return {
            "cap": CAPS[self.plan] + self.more, "plan": self.plan, "reason": self.reason, "label": self.label,
        }


def premium(reason: str, label: str = "active") -> Expected:
    return Expected("premium", reason, label)


def free(reason: str, label: Optional[str]) -> Expected:
    return Expected("free", reason, label)


NOBODY = free("never_subscribed", None)
PENDING = free("never_subscribed", "pending")
SUBSCRIBED = premium("subscribed")
LEEWAY = premium("leeway")
GRACE = premium("grace", "grace")
TRIAL = premium("trial", "trialing")


class Addition(NamedTuple):
    """An item beside the plan's."""

    item: str
    price: Price
    period: tuple[int, int]


@dataclass
class Subscription:
    id: str
    item: str
    customer: str
    created: int
    anchor: int
    period: tuple[int, int]
    price: Price
    status: str
    metadata: dict
    payment_method: Optional[str]
    trial: Optional[tuple[int, int]] = None
    cancel_at_period_end: bool = False
    cancel_at: Optional[int] = None
    canceled_at: Optional[int] = None
    cancellation_reason: Optional[str] = None
    feedback: Optional[str] = None
    ended_at: Optional[int] = None
    latest_invoice: Optional[str] = None
    pause: Optional[dict] = None
    # Why its status is `paused`, and since when.
    paused: Optional[tuple[str, int]] = None
    # Within how many days an invoice that is sent may be paid; None where the card is charged.
    days_until_due: Optional[int] = None
    pending_update: Optional[dict] = None
    additions: list[Addition] = field(default_factory=list)


class Line(NamedTuple):
    price: Price
    amount: int
    period: tuple[int, int]
    description: str
    proration: bool = False
    # The invoice whose unused time this line gives back.
    credits: Optional[str] = None
    # The subscription's item, where it is not the plan's.
    item: Optional[str] = None


@dataclass
class Invoice:
    seed: str
    id: Optional[str]
    subscription: Subscription
    number: int
    created: int
    reason: str
    lines: list[Line]
    period: tuple[int, int]
    status: str = "draft"
    attempted: bool = False
    attempt_count: int = 0
    next_attempt: Optional[int] = None
    auto_advance: bool = True
    finalized_at: Optional[int] = None
    paid_at: Optional[int] = None
    voided_at: Optional[int] = None
    delivered_at: Optional[int] = None
    uncollectible_at: Optional[int] = None
    uncollectible_reason: Optional[str] = None
    # Paid by other means than Stripe's: no payment of Stripe's is behind it.
    is_paid_outside: bool = False
    # What the customer has with the seller; below zero is to their credit.
    balance: int = 0

    @property
    def total(self) -> int:
        return sum(line.amount for line in self.lines)

    @property
    def due(self) -> int:
        return max(0, self.total + self.balance)

    @property
    def due_at(self) -> Optional[int]:
        days = self.subscription.days_until_due
        return None if days is None else self.created + days * DAY

    def finalize(self, at: int):
        self.status, self.finalized_at, self.delivered_at = "open", at, at

    def fail(self, at: int, next_attempt: Optional[int]):
        if self.finalized_at is None:
            self.finalize(at)
        self.attempted, self.attempt_count = True, self.attempt_count + 1
        self.next_attempt, self.auto_advance = next_attempt, next_attempt is not None

    def pay(self, at: int):
        if self.finalized_at is None:
            self.finalize(at)
        self.attempted, self.attempt_count = True, self.attempt_count + (1 if self.due else 0)
        self.status, self.paid_at, self.next_attempt = "paid", at, None
        self.auto_advance = False


def period_line(price: Price, period: tuple[int, int], item: Optional[str] = None) -> Line:
    words = f"1 × {price.title} (at ${price.amount / 100:.2f} / {price.interval})"
    return Line(price, price.amount, period, words, item=item)


@dataclass
class Session:
    id: str
    subscription: Subscription
    created: int
    amount: int
    metadata: dict
    reference: str
    methods: tuple[str, ...] = ("card",)
    # Of a delayed payment method: what became of it so far.
    outcome: Optional[str] = None

    @property
    def payment_status(self) -> str:
        return self.outcome or ("paid" if self.amount else "no_payment_required")


@dataclass
class Event:
    """A snapshot event, or with `object_` None whatever `whole` holds instead."""

    id: str
    type: str
    created: int
    object_: dict
    previous: Optional[dict] = None
    request: Optional[str] = None
    pending: int = 1
    whole: Optional[dict] = None

    def body(self, version: str) -> bytes:
        if self.whole is not None:
            return api.body(api.render(self.whole, version))
        data = {"object": self.object_}
        if self.previous is not None:
            data["previous_attributes"] = self.previous
        return api.body(api.render({
            "id": self.id, "object": "event", "api_version": version, "created": self.created,
            "data": data, "livemode": True, "pending_webhooks": self.pending,
            "request": {
                "id": self.request,
                "idempotency_key": self.request and f"coffer-{api.letters(self.request, 24)}",
            },
            "type": self.type,
        }, version))


@dataclass
class Story:
    version: str
    name: str
    title: str
    # When the customer buys.
    start: int
    steps: list[dict] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    count: int = 0

    @property
    def seed(self) -> str:
        return f"{self.version}/{self.name}"

    @property
    def account(self) -> str:
        return api.account(self.seed)

    @property
    def secret(self) -> str:
        return f"whsec_test_{api.letters('secret' + self.seed, 24)}"

    @property
    def is_basil(self) -> bool:
        return self.version[:10] >= api.BASIL[:10]

    @property
    def token(self) -> dict:
        return {METADATA_KEY: self.account}

    def id(self, kind: str, name: str = "") -> str:
        return api.identifier(kind, f"{self.seed}/{name}")

    # What exists

    def subscription(
        self, price: Price = MONTHLY, status: str = "active", owned: bool = True,
        trial_days: int = 0, has_card: bool = True, name: str = "",
    ) -> Subscription:
        length = 12 if price.interval == "year" else 1
        end = self.start + trial_days * DAY if trial_days else months_later(self.start, length)
        return Subscription(
            id=self.id("sub", name), item=self.id("si", name), customer=self.id("cus"), created=self.start,
            anchor=end if trial_days else self.start, period=(self.start, end), price=price,
            status=status, metadata=self.token if owned else {},
            payment_method=self.id("pm") if has_card else None,
            trial=(self.start, end) if trial_days else None,
        )

    def addition(self, price: Price, period: tuple[int, int]) -> Addition:
        return Addition(self.id("si", price.id), price, period)

    def invoice(
        self, sub: Subscription, number: int, reason: str, created: int,
        lines: Optional[list[Line]] = None, period: Optional[tuple[int, int]] = None,
    ) -> Invoice:
        """A draft; without `lines` for the current period of the subscription."""
        seed = f"{self.seed}/{number}"
        if lines is None:
            lines = [period_line(sub.price, sub.period)] + [
                period_line(one.price, one.period, one.item) for one in sub.additions
            ]
        sub.latest_invoice = api.identifier("in", seed)
        return Invoice(
            seed=seed, id=sub.latest_invoice, subscription=sub, number=number, created=created,
            reason=reason, lines=lines, period=period or (created, created),
        )

    def session(self, sub: Subscription, amount: Optional[int] = None) -> Session:
        return Session(
            id=self.id("cs"), subscription=sub, created=self.start - 4 * MINUTE,
            amount=sub.price.amount if amount is None else amount, metadata=self.token,
            reference=api.account(self.seed + "/reference"),
        )

    # What Stripe delivers

    def event(
        self, type_: str, created: int, object_: dict, previous: Optional[dict] = None,
        asked: bool = False,
    ) -> Event:
        """`asked`: a request made it happen, not Stripe by itself."""
        self.count += 1
        name = f"event/{self.count}"
        return Event(
            id=self.id("evt", name), type=type_, created=created, object_=object_,
            previous=previous, request=self.id("req", name) if asked else None,
        )

    def deliver(
        self, event: Event, expected: Expected, at: Optional[int] = None,
        status: int = 200, answer: str = "recorded", rotated: bool = False,
    ):
        """`rotated`: signed with a second secret too, as while an endpoint's is being changed."""
        at = event.created + 2 if at is None else at
        body = event.body(self.version)
        codes = [self._code(self.secret, at, body)]
        if rotated:
            codes.insert(0, self._code(self.secret + "Next", at, body))
        name = f"{len(self.files) + 1:02}-{event.type}.http"
        signature = ",".join([f"t={at}"] + [f"v1={code}" for code in codes])
        head = [
            f"POST {TARGET} HTTP/1.1", "Host: billing.coffer.example",
            "User-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)",
            f"Content-Length: {len(body)}", "Accept: */*; q=0.5, application/xml",
            "Accept-Encoding: gzip", "Cache-Control: no-cache",
            "Content-Type: application/json; charset=utf-8", f"Stripe-Signature: {signature}",
        ]
        self.files[name] = "".join(f"{line}\r\n" for line in head + [""]).encode() + body
        step = {"deliver": name, "at": text(at)}
        if status != 200:
            step["status"] = status
        if answer != "recorded":
            step["answer"] = answer
        self.steps.append({**step, "expect": expected.members()})

    def clock(self, at: int, expected: Expected):
        """Only time passes."""
        self.steps.append({"at": text(at), "expect": expected.members()})

    @staticmethod
    def _code(secret: str, at: int, body: bytes) -> str:
        return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()

    # Shorthands for what every story has

    def subscription_event(
        self, kind: str, sub: Subscription, created: int, expected: Expected,
        at: Optional[int] = None, previous: Optional[dict] = None, asked: bool = False,
    ):
        event = self.event(
            f"customer.subscription.{kind}", created, objects.subscription(sub), previous, asked)
        self.deliver(event, expected, at)

    def invoice_event(
        self, kind: str, inv: Invoice, created: int, expected: Expected, at: Optional[int] = None,
    ):
        self.deliver(self.event(f"invoice.{kind}", created, objects.invoice(inv)), expected, at)

    def session_event(
        self, session: Session, created: int, expected: Expected, kind: str = "completed",
    ):
        event = self.event(
            f"checkout.session.{kind}", created, objects.checkout_session(session))
        self.deliver(event, expected)

    def payment_event(self, inv: Invoice, expected: Expected):
        """Since basil the only delivery that ties a payment to its invoice."""
        if self.is_basil:
            event = self.event("invoice_payment.paid", inv.paid_at, payments.invoice_payment(inv))
            self.deliver(event, expected, at=inv.paid_at + 8)

    def buy(
        self, price: Price = MONTHLY, paid: Expected = SUBSCRIBED, before: Expected = PENDING,
        additions: tuple[Price, ...] = (),
    ) -> tuple[Subscription, Invoice]:
        """The first purchase by card through Checkout, in the order usual for the version."""
        sub = self.subscription(price, status="active" if self.is_basil else "incomplete")
        for one in additions:
            sub.additions.append(self.addition(one, sub.period))
        # Active without a known invoice: a day of leeway, until that comes or is asked for.
        unseen = paid._replace(reason="leeway") if paid.reason == "subscribed" else before
        first = self.invoice(sub, 1, "subscription_create", self.start)
        self.clock(self.start - 5 * MINUTE, NOBODY)
        if self.is_basil:
            # The subscription is made only after the payment, so it begins active.
            first.pay(self.start + 1)
            self.session_event(self.session(sub), self.start + 2, before)
            self.subscription_event("created", sub, self.start + 2, unseen, at=self.start + 5)
            self.invoice_event("paid", first, self.start + 3, paid, at=self.start + 6)
            return sub, first
        self.subscription_event("created", sub, self.start, before, asked=True)
        first.pay(self.start + 3)
        self.invoice_event("paid", first, self.start + 3, paid)
        sub.status = "active"
        self.subscription_event(
            "updated", sub, self.start + 3, paid, at=self.start + 6,
            previous={"status": "incomplete"})
        self.session_event(self.session(sub), self.start + 5, paid)
        return sub, first

    def turn(self, sub: Subscription) -> int:
        """The next period begins, unpaid as yet; returns when."""
        before = replace(sub)
        months = 12 if sub.price.interval == "year" else 1
        sub.period = (sub.period[1], months_later(sub.period[1], months))
        self.previous_period = self._previous_period(before)
        return sub.period[0]

    def _previous_period(self, before: Subscription) -> dict:
        """What `previous_attributes` says after a change of the period."""
        changed = {"latest_invoice": before.latest_invoice}
        if self.is_basil:
            changed["items"] = {"data": objects.items(before)}
        else:
            changed["current_period_end"] = before.period[1]
            changed["current_period_start"] = before.period[0]
        return changed

    def story_file(self) -> bytes:
        """JSON with one step on a line, so that a story reads and changes line by line."""
        members = {
            "title": self.title, "source": self.source, "account": self.account,
            "secret": self.secret,
        }
        lines = [f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)},"
                 for k, v in members.items()]
        steps = ",\n".join("    " + json.dumps(step, ensure_ascii=False) for step in self.steps)
        return ("{\n" + "\n".join(lines) + '\n  "steps": [\n' + steps + "\n  ]\n}\n").encode()

    @property
    def source(self) -> str:
        newest = "Stripe's published OpenAPI fixtures of API 2026-07-29.dahlia"
        if self.version == api.DAHLIA:
            return f"Shape: {newest} and the webhook documentation. Values: written by us."
        if self.version == api.ENDIVE:
            return (
                f"Shape: {newest}, with what Stripe's API changelog adds up to {self.version}. "
                "Values: written by us."
            )
        return (
            f"Shape: {newest}, taken back to {self.version} by Stripe's API changelog. "
            "Values: written by us."
        )
