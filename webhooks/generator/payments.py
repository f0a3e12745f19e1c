"""Payments of invoices, refunds and disputes: objects of money that comes and goes back."""

from typing import NamedTuple, Optional

from .api import BASIL, CLOVER, FIRST_DAHLIA, TRAINS, identifier, since


class Refund(NamedTuple):
    name: str
    invoice: object
    amount: int
    created: int
    status: str = "succeeded"
    reason: str = "requested_by_customer"
    failure: Optional[str] = None

    @property
    def id(self) -> str:
        return identifier("re", f"{self.invoice.seed}/{self.name}")


class Dispute(NamedTuple):
    invoice: object
    created: int
    status: str = "needs_response"
    is_withdrawn: bool = False
    is_reinstated: bool = False
    has_evidence: bool = False

    @property
    def id(self) -> str:
        return identifier("du", self.invoice.seed)


def charge_of(inv) -> str:
    return identifier("ch", inv.seed)


def intent_of(inv) -> str:
    return identifier("pi", inv.seed)


def invoice_payment(inv) -> dict:
    """Since basil: what an invoice itself no longer says."""
    return {
        "id": identifier("inpay", inv.seed), "object": "invoice_payment",
        "amount_paid": inv.due, "amount_requested": inv.due, "created": inv.finalized_at,
        "currency": "usd", "invoice": inv.id, "is_default": True, "livemode": True,
        "payment": {"payment_intent": intent_of(inv), "type": "payment_intent"},
        "status": "paid", "status_transitions": {"canceled_at": None, "paid_at": inv.paid_at},
    }


def refund(one: Refund) -> dict:
    shown = {
        "id": one.id, "object": "refund", "amount": one.amount,
        "balance_transaction": identifier("txn", one.id), "charge": charge_of(one.invoice),
        "created": one.created, "currency": "usd",
        "customer": since(FIRST_DAHLIA, one.invoice.subscription.customer),
        "customer_account": since(FIRST_DAHLIA, None),
        "destination_details": since(
            TRAINS,
            {
                "card": {
                    "reference_status": "pending",
                    "reference_type": "acquirer_reference_number", "type": "refund",
                },
                "type": "card",
            },
        ),
        "metadata": {}, "payment_intent": intent_of(one.invoice),
        "payment_method": since(FIRST_DAHLIA, one.invoice.subscription.payment_method),
        "reason": one.reason, "receipt_number": None, "source_transfer_reversal": None,
        "status": one.status, "transfer_reversal": None,
    }
    if one.failure:
        shown["failure_balance_transaction"] = identifier("txn", one.id + "failure")
        shown["failure_reason"] = one.failure
    return shown


_EVIDENCE = (
    "access_activity_log", "billing_address", "cancellation_policy",
    "cancellation_policy_disclosure", "cancellation_rebuttal", "customer_communication",
    "customer_email_address", "customer_name", "customer_purchase_ip", "customer_signature",
    "duplicate_charge_documentation", "duplicate_charge_explanation", "duplicate_charge_id",
    "product_description", "receipt", "refund_policy", "refund_policy_disclosure",
    "refund_refusal_explanation", "service_date", "service_documentation", "shipping_address",
    "shipping_carrier", "shipping_date", "shipping_documentation", "shipping_tracking_number",
    "uncategorized_file", "uncategorized_text",
)


def dispute(one: Dispute) -> dict:
    inv = one.invoice
    moves = []
    if one.is_withdrawn:
        moves.append(_move(one, -inv.due, 1500, "Chargeback withdrawal", "dispute"))
    if one.is_reinstated:
        moves.append(_move(one, inv.due, 0, "Chargeback reversal", "dispute_reversal"))
    return {
        "id": one.id, "object": "dispute", "amount": inv.due, "balance_transactions": moves,
        "charge": charge_of(inv), "created": one.created, "currency": "usd",
        "enhanced_eligibility_types": since(TRAINS, []),
        "evidence": {
            **{name: None for name in _EVIDENCE}, "enhanced_evidence": since(BASIL, {}),
            "access_activity_log": "Signed in 41 times." if one.has_evidence else None,
        },
        "evidence_details": {
            "due_by": one.created + 10 * 86_400, "enhanced_eligibility": since(BASIL, {}),
            "has_evidence": one.has_evidence, "past_due": False,
            "submission_count": 1 if one.has_evidence else 0,
            "submission_method": since(CLOVER, "manual" if one.has_evidence else None),
        },
        "is_charge_refundable": False, "livemode": True, "metadata": {},
        "payment_intent": intent_of(inv),
        "payment_method_details": since(
            TRAINS,
            {
                "card": {
                    "brand": "visa", "case_type": "chargeback", "network": since(FIRST_DAHLIA, "visa"),
                    "network_reason_code": "13.2",
                },
                "type": "card",
            },
        ),
        "reason": "subscription_canceled", "status": one.status,
    }


def _move(one: Dispute, amount: int, fee: int, words: str, category: str) -> dict:
    return {
        "id": identifier("txn", f"{one.id}/{category}"), "object": "balance_transaction",
        "amount": amount, "available_on": one.created + 2 * 86_400, "created": one.created + 60,
        "currency": "usd", "description": f"{words} for {charge_of(one.invoice)}",
        "exchange_rate": None, "fee": fee,
        "fee_details": [
            {
                "amount": fee, "application": None, "currency": "usd",
                "description": "Dispute fee", "type": "stripe_fee",
            }
        ] if fee else [],
        "net": amount - fee, "reporting_category": category, "source": one.id,
        "status": "available", "type": "adjustment",
    }
