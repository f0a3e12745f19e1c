"""Stripe's objects, whole, in the newest shape and with what older versions have instead.

`since`, `until` and `changed` mark the differences of API versions; nothing else knows them.
"""

from .api import (
    BASIL, CHARGES_2022, CHECKOUT_2022, CLOVER, ENDIVE, FIRST_DAHLIA, TRAINS, changed, identifier,
    letters, since, until,
)
from .catalogue import Price


def listed(data: list, url: str) -> dict:
    return {
        "object": "list", "data": data, "has_more": False,
        "total_count": until(BASIL, len(data)), "url": url,
    }


ADDRESS = {
    "city": "Göteborg", "country": "SE", "line1": "Östra Hamngatan 1", "line2": None,
    "postal_code": "411 10", "state": None,
}
NAME = "Zoë Ångström"
EMAIL = "zoe@example.com"
PRICED_AT = 1_735_812_000


def price(p: Price) -> dict:
    return {
        "id": p.id, "object": "price", "active": True, "billing_scheme": "per_unit",
        "created": PRICED_AT, "currency": "usd", "custom_unit_amount": None, "livemode": True,
        "lookup_key": None, "metadata": {}, "nickname": p.nickname, "product": p.product,
        "recurring": {
            "aggregate_usage": until(BASIL, None), "interval": p.interval, "interval_count": 1,
            "meter": since(TRAINS, None), "trial_period_days": None, "usage_type": "licensed",
        },
        "tax_behavior": "unspecified", "tiers_mode": None, "transform_quantity": None,
        "type": "recurring", "unit_amount": p.amount, "unit_amount_decimal": str(p.amount),
    }


def plan(p: Price) -> dict:
    return {
        "id": p.id, "object": "plan", "active": True, "aggregate_usage": until(BASIL, None),
        "amount": p.amount, "amount_decimal": str(p.amount), "billing_scheme": "per_unit",
        "created": PRICED_AT, "currency": "usd", "interval": p.interval, "interval_count": 1,
        "livemode": True, "metadata": {}, "meter": since(TRAINS, None), "nickname": p.nickname,
        "product": p.product, "tiers_mode": None, "transform_usage": None,
        "trial_period_days": None, "usage_type": "licensed",
    }


def items(sub) -> list:
    own = [(sub.item, sub.price, sub.period)]
    return [
        {
            "id": item, "object": "subscription_item",
            "billing_thresholds": None, "created": sub.created,
            "current_period_end": since(BASIL, period[1]),
            "current_period_start": since(BASIL, period[0]), "discounts": since(TRAINS, []),
            "metadata": {}, "plan": plan(sold), "price": price(sold), "quantity": 1,
            "subscription": sub.id, "tax_rates": [],
        }
        for item, sold, period in own + list(sub.additions)
    ]


def item_list(sub) -> dict:
    return listed(items(sub), f"/v1/subscription_items?subscription={sub.id}")


def collection_method(sub) -> str:
    return "charge_automatically" if sub.days_until_due is None else "send_invoice"


def paused(sub) -> dict | None:
    if sub.paused is None:
        return None
    reason, at = sub.paused
    return {"subscription": {"type": reason}, "transitioned_at": at, "type": "subscription"}


def subscription(sub) -> dict:
    return {
        "id": sub.id, "object": "subscription", "application": None,
        "application_fee_percent": None,
        "automatic_tax": {
            "disabled_reason": since(TRAINS, None), "enabled": False,
            "liability": since(TRAINS, None),
        },
        "billing_cycle_anchor": sub.anchor, "billing_cycle_anchor_config": since(TRAINS, None),
        "billing_mode": since(
            CLOVER,
            {
                "flexible": {"proration_discounts": "included"}, "type": "flexible",
                "updated_at": sub.created,
            },
        ),
        "billing_schedules": since(FIRST_DAHLIA, []), "billing_thresholds": None,
        "cancel_at": sub.cancel_at, "cancel_at_period_end": sub.cancel_at_period_end,
        "canceled_at": sub.canceled_at,
        "cancellation_details": {
            "comment": None, "feedback": sub.feedback, "reason": sub.cancellation_reason,
        },
        "collection_method": collection_method(sub), "created": sub.created, "currency": "usd",
        "current_period_end": until(BASIL, sub.period[1]),
        "current_period_start": until(BASIL, sub.period[0]), "customer": sub.customer,
        "customer_account": since(CLOVER, None), "days_until_due": sub.days_until_due,
        "default_payment_method": sub.payment_method, "default_source": None,
        "default_tax_rates": [], "description": None, "discount": until(BASIL, None),
        "discounts": since(TRAINS, []), "ended_at": sub.ended_at,
        "invoice_settings": since(
            TRAINS,
            {
                "account_tax_ids": None, "custom_fields": since(FIRST_DAHLIA, None),
                "description": since(FIRST_DAHLIA, None), "footer": since(FIRST_DAHLIA, None),
                "issuer": {"type": "self"},
            },
        ),
        "items": item_list(sub), "latest_invoice": sub.latest_invoice, "livemode": True,
        "managed_payments": since(FIRST_DAHLIA, {"enabled": False}),
        "metadata": dict(sub.metadata), "next_pending_invoice_item_invoice": None,
        "on_behalf_of": None, "pause_collection": sub.pause,
        "payment_settings": {
            "payment_method_options": {
                "acss_debit": None, "bancontact": None,
                "card": {"network": None, "request_three_d_secure": "automatic"},
                "customer_balance": None, "konbini": None, "payto": since(CLOVER, None),
                "pix": since(FIRST_DAHLIA, None), "sepa_debit": since(TRAINS, None),
                "upi": since(FIRST_DAHLIA, None), "us_bank_account": None,
            },
            "payment_method_types": None, "save_default_payment_method": "off",
        },
        "pending_invoice_item_interval": None, "pending_setup_intent": None,
        "pending_update": sub.pending_update, "plan": until(BASIL, plan(sub.price)), "quantity": until(BASIL, 1),
        "schedule": None, "start_date": sub.created, "status": sub.status,
        "status_details": since(ENDIVE, {"paused": paused(sub)}), "test_clock": None,
        "transfer_data": None, "trial_end": sub.trial and sub.trial[1],
        "trial_settings": {
            "end_behavior": {
                "missing_payment_method": "create_invoice" if sub.payment_method else "pause",
            },
        },
        "trial_start": sub.trial and sub.trial[0],
    }


def line(invoice, index: int, entry) -> dict:
    seed = f"{invoice.seed}/{index}"
    sub = invoice.subscription
    # A credit for unused time comes from an invoice item, a period from the subscription itself.
    item = identifier("ii", seed) if entry.proration else None
    billed = entry.item or sub.item
    credited = {"invoice": entry.credits, "invoice_line_items": [identifier("il", seed + "c")]}
    details = {
        "proration": entry.proration,
        "proration_details": {"credited_items": credited if entry.credits else None},
        "subscription": sub.id,
    }
    parent = {
        "invoice_item_details": {"invoice_item": item, **details} if item else None,
        "subscription_item_details": (
            None if item else {"invoice_item": None, **details, "subscription_item": billed}
        ),
        "type": "invoice_item_details" if item else "subscription_item_details",
    }
    return {
        "id": identifier("il", seed), "object": "line_item", "amount": entry.amount,
        "amount_excluding_tax": until(BASIL, entry.amount), "currency": "usd",
        "description": entry.description, "discount_amounts": [],
        "discountable": not entry.proration, "discounts": [], "invoice": invoice.id,
        "invoice_item": until(BASIL, item) if item else until(CHECKOUT_2022, None),
        "livemode": True, "metadata": dict(sub.metadata), "parent": since(BASIL, parent),
        "period": {"end": entry.period[1], "start": entry.period[0]},
        "plan": until(BASIL, plan(entry.price)), "pretax_credit_amounts": since(TRAINS, []),
        "price": until(BASIL, price(entry.price)),
        "pricing": since(
            BASIL,
            {
                "price_details": {"price": entry.price.id, "product": entry.price.product},
                "type": "price_details", "unit_amount_decimal": str(entry.amount),
            },
        ),
        "proration": until(BASIL, entry.proration),
        "proration_details": until(
            BASIL, {"credited_items": credited if entry.credits else None}
        ),
        "quantity": 1, "quantity_decimal": since(FIRST_DAHLIA, "1"),
        "subscription": until(BASIL, sub.id), "subscription_item": until(BASIL, billed),
        "subtotal": since(CLOVER, entry.amount), "tax_amounts": until(BASIL, []),
        "tax_rates": until(BASIL, []), "taxes": since(BASIL, []),
        "type": until(BASIL, "invoiceitem" if item else "subscription"),
        "unit_amount_excluding_tax": until(BASIL, str(entry.amount)),
    }


def invoice(inv) -> dict:
    sub = inv.subscription
    total, due = inv.total, inv.due
    is_paid = inv.status == "paid"
    is_final = inv.status != "draft"
    secret = letters(inv.seed + "hosted", 96)
    hosted = f"https://invoice.stripe.com/i/acct_1Lk4QzTmRvXcE0w/live_{secret}"
    has_payment = due and not inv.is_paid_outside
    charge = identifier("ch", inv.seed) if inv.attempt_count and has_payment else None
    intent = identifier("pi", inv.seed) if is_final and has_payment else None
    outside = due if inv.is_paid_outside else 0
    shown = {
        "id": inv.id, "object": "invoice", "account_country": "US",
        "account_name": "Coffer", "account_tax_ids": None, "amount_due": due,
        "amount_overpaid": since(CLOVER, 0), "amount_paid": due if is_paid else 0,
        "amount_remaining": 0 if is_paid else due, "amount_shipping": 0, "application": None,
        "application_fee_amount": until(BASIL, None), "attempt_count": inv.attempt_count,
        "attempted": inv.attempted, "auto_advance": inv.auto_advance,
        "automatic_tax": {
            "disabled_reason": since(TRAINS, None), "enabled": False,
            "liability": since(TRAINS, None), "provider": since(CLOVER, None), "status": None,
        },
        "automatically_finalizes_at": since(
            TRAINS, None if is_final else inv.created + 3600
        ),
        "billing_reason": inv.reason, "charge": until(BASIL, charge),
        "collection_method": collection_method(sub), "created": inv.created, "currency": "usd",
        "custom_fields": None, "customer": sub.customer, "customer_account": since(CLOVER, None),
        "customer_address": ADDRESS, "customer_email": EMAIL, "customer_name": NAME,
        "customer_phone": None, "customer_shipping": None, "customer_tax_exempt": "none",
        "customer_tax_ids": [], "default_payment_method": None, "default_source": None,
        "default_tax_rates": [], "description": None, "discount": until(BASIL, None),
        "discounts": [], "due_date": inv.due_at, "effective_at": inv.finalized_at,
        "ending_balance": min(0, inv.balance + total) if is_final else None, "footer": None, "from_invoice": None,
        "hosted_invoice_url": f"{hosted}?s=ap" if is_final else None,
        "invoice_pdf": f"{hosted}/pdf?s=ap" if is_final else None, "issuer": {"type": "self"},
        "last_finalization_error": None, "latest_revision": None,
        "lines": listed(
            [line(inv, index, entry) for index, entry in enumerate(inv.lines)],
            f"/v1/invoices/{inv.id}/lines" if inv.id else
            f"/v1/invoices/upcoming/lines?subscription={sub.id}",
        ),
        "livemode": True, "metadata": {}, "next_payment_attempt": inv.next_attempt,
        "number": f"{letters(sub.id, 8).upper()}-{inv.number:04}" if is_final else None,
        "on_behalf_of": None, "paid": until(BASIL, is_paid),
        "paid_out_of_band": until(BASIL, inv.is_paid_outside),
        "parent": since(
            BASIL,
            {
                "quote_details": None,
                "subscription_details": {"metadata": dict(sub.metadata), "subscription": sub.id},
                "type": "subscription_details",
            },
        ),
        "payment_intent": until(BASIL, intent),
        "payment_settings": {
            "default_mandate": None,
            "payment_method_options": {
                "acss_debit": None, "bancontact": None,
                "card": {"request_three_d_secure": "automatic"}, "customer_balance": None,
                "konbini": None, "payto": since(CLOVER, None), "pix": since(FIRST_DAHLIA, None),
                "sepa_debit": since(TRAINS, None), "upi": since(FIRST_DAHLIA, None),
                "us_bank_account": None,
            },
            "payment_method_types": None,
        },
        # Of the invoice, not of the service: the service's is in the lines.
        "period_end": inv.period[1], "period_start": inv.period[0],
        "post_payment_credit_notes_amount": 0, "pre_payment_credit_notes_amount": 0,
        "quote": until(BASIL, None), "receipt_number": None,
        "rendering": since(
            TRAINS,
            {
                "amount_tax_display": None, "pdf": {"page_size": "letter"}, "template": None,
                "template_version": None,
            },
        ),
        "rendering_options": until(TRAINS, None), "shipping_cost": None, "shipping_details": None,
        "starting_balance": inv.balance, "statement_descriptor": None, "status": inv.status,
        "status_details": since(
            ENDIVE,
            {
                "uncollectible": inv.uncollectible_reason
                and {"reason": inv.uncollectible_reason},
            },
        ),
        "status_transitions": {
            "finalized_at": inv.finalized_at,
            "marked_uncollectible_at": inv.uncollectible_at,
            "paid_at": inv.paid_at, "voided_at": inv.voided_at,
        },
        "subscription": until(BASIL, sub.id),
        "subscription_details": until(BASIL, {"metadata": dict(sub.metadata)}),
        "subtotal": total, "subtotal_excluding_tax": total, "tax": until(BASIL, None),
        "test_clock": None, "total": total, "total_discount_amounts": [],
        "total_excluding_tax": total, "total_pretax_credit_amounts": since(TRAINS, []),
        "total_tax_amounts": until(BASIL, []), "total_taxes": since(BASIL, []),
        "transfer_data": until(BASIL, None), "webhooks_delivered_at": inv.delivered_at,
    }
    if outside:
        shown["amount_paid_off_stripe"] = since(BASIL, outside)
        shown["amount_paid"] = changed(BASIL, outside, 0)
    return shown


def checkout_session(session) -> dict:
    sub = session.subscription
    return {
        "id": session.id, "object": "checkout.session",
        "adaptive_pricing": since(TRAINS, {"enabled": True}), "after_expiration": None,
        "allow_promotion_codes": None, "amount_subtotal": session.amount,
        "amount_total": session.amount,
        "automatic_tax": {
            "enabled": False, "liability": since(TRAINS, None),
            "provider": since(CLOVER, None), "status": None,
        },
        "billing_address_collection": None, "cancel_url": "https://coffer.example/plans",
        # The customer can write this one, so nothing may follow from it.
        "client_reference_id": session.reference, "client_secret": None,
        "collected_information": since(
            BASIL,
            {
                "business_name": since(CLOVER, None), "individual_name": since(CLOVER, None),
                "shipping_details": None,
            },
        ),
        "consent": None, "consent_collection": None, "created": session.created,
        "currency": "usd", "currency_conversion": None, "custom_fields": [],
        "custom_text": {
            "after_submit": None, "shipping_address": None, "submit": None,
            "terms_of_service_acceptance": None,
        },
        "customer": sub.customer, "customer_account": since(CLOVER, None),
        "customer_creation": "always",
        "customer_details": {
            "address": ADDRESS, "business_name": since(CLOVER, None), "email": EMAIL,
            "individual_name": since(CLOVER, None), "name": NAME, "phone": None,
            "tax_exempt": "none", "tax_ids": [],
        },
        "customer_email": None, "discounts": since(TRAINS, []),
        "expires_at": session.created + 86_400,
        "integration_identifier": since(FIRST_DAHLIA, None),
        "invoice": since(CHECKOUT_2022, sub.latest_invoice), "invoice_creation": None,
        "livemode": True, "locale": "sv",
        "managed_payments": since(FIRST_DAHLIA, {"enabled": False}),
        "metadata": dict(session.metadata), "mode": "subscription",
        "origin_context": since(CLOVER, None), "payment_intent": None, "payment_link": None,
        "payment_method_collection": "always" if sub.payment_method else "if_required",
        "payment_method_configuration_details": since(TRAINS, None),
        "payment_method_options": {"card": {"request_three_d_secure": "automatic"}},
        "payment_method_types": list(session.methods),
        "payment_status": session.payment_status,
        "permissions": since(BASIL, None), "phone_number_collection": {"enabled": False},
        "recovered_from": None,
        "saved_payment_method_options": since(
            TRAINS,
            {
                "allow_redisplay_filters": ["always"], "payment_method_remove": "disabled",
                "payment_method_save": None,
            },
        ),
        "setup_intent": None, "shipping": until(CHECKOUT_2022, None),
        "shipping_address_collection": None, "shipping_cost": since(CHECKOUT_2022, None),
        "shipping_details": since(CHECKOUT_2022, until(BASIL, None)),
        "shipping_options": [], "shipping_rate": until(CHECKOUT_2022, None),
        "status": "complete", "submit_type": None, "subscription": sub.id,
        "success_url": "https://coffer.example/welcome?session={CHECKOUT_SESSION_ID}",
        "total_details": {"amount_discount": 0, "amount_shipping": 0, "amount_tax": 0},
        "ui_mode": since(TRAINS, changed(FIRST_DAHLIA, "hosted", "hosted_page")), "url": None,
        "wallet_options": since(CLOVER, None),
    }


def customer(sub, moment: int, email: str) -> dict:
    return {
        "id": sub.customer, "object": "customer", "address": ADDRESS, "balance": 0,
        "created": moment, "currency": "usd", "customer_account": since(CLOVER, None),
        "default_source": None, "delinquent": False, "description": None, "discount": None,
        "email": email, "invoice_prefix": letters(sub.id, 8).upper(),
        "invoice_settings": {
            "custom_fields": None, "default_payment_method": sub.payment_method, "footer": None,
            "rendering_options": None,
        },
        "livemode": True, "metadata": {}, "name": NAME, "next_invoice_sequence": 2, "phone": None,
        "preferred_locales": ["sv-SE"], "shipping": None, "tax_exempt": "none",
        "test_clock": None,
    }


def charge(inv, refunded: int, refunds=(), dispute=None) -> dict:
    """`refunds`: those made so far, which older versions list, newest first."""
    sub = inv.subscription
    charge_id = identifier("ch", inv.seed)
    return {
        "id": charge_id, "object": "charge", "amount": inv.total, "amount_captured": inv.total,
        "amount_refunded": refunded, "application": None, "application_fee": None,
        "application_fee_amount": None, "balance_transaction": identifier("txn", inv.seed),
        "billing_details": {
            "address": ADDRESS, "email": EMAIL, "name": NAME, "phone": None,
            "tax_id": since(TRAINS, None),
        },
        "calculated_statement_descriptor": "COFFER", "captured": True, "created": inv.created,
        "currency": "usd", "customer": sub.customer, "description": "Subscription creation",
        "destination": until(CHARGES_2022, None), "dispute": dispute, "disputed": dispute is not None,
        "failure_balance_transaction": None, "failure_code": None, "failure_message": None,
        "fraud_details": {}, "invoice": until(BASIL, inv.id), "livemode": True, "metadata": {},
        "on_behalf_of": None, "order": until(BASIL, None),
        "outcome": {
            "advice_code": since(TRAINS, None), "network_advice_code": since(TRAINS, None),
            "network_decline_code": since(TRAINS, None),
            "network_status": "approved_by_network", "reason": None, "risk_level": "normal",
            "risk_score": 21, "seller_message": "Payment complete.", "type": "authorized",
        },
        "paid": True, "payment_intent": identifier("pi", inv.seed),
        "payment_method": sub.payment_method,
        "payment_method_details": {"card": _card(inv), "type": "card"},
        "presentment_details": since(BASIL, None), "radar_options": {},
        "receipt_email": EMAIL, "receipt_number": None,
        "receipt_url": f"https://pay.stripe.com/receipts/invoices/{letters(inv.seed + 'r', 80)}",
        "refunded": refunded == inv.total,
        "refunds": until(CHARGES_2022, listed(list(refunds), f"/v1/charges/{charge_id}/refunds")),
        "review": None, "shipping": None, "source": None, "source_transfer": None,
        "statement_descriptor": "COFFER", "statement_descriptor_suffix": None,
        "status": "succeeded", "transfer_data": None, "transfer_group": None,
    }


def _card(inv) -> dict:
    return {
        "amount_authorized": inv.total, "authorization_code": "017842", "brand": "visa",
        "checks": {
            "address_line1_check": "pass", "address_postal_code_check": "pass",
            "cvc_check": "pass",
        },
        "country": "SE", "exp_month": 8, "exp_year": 2031,
        "extended_authorization": {"status": "disabled"},
        "fingerprint": letters(inv.subscription.id + "fp", 16), "funding": "debit",
        "incremental_authorization": {"status": "unavailable"}, "installments": None,
        "last4": "4242", "mandate": None, "multicapture": {"status": "unavailable"},
        "network": "visa", "network_token": {"used": False},
        "network_transaction_id": "485207713906253",
        "overcapture": {"maximum_amount_capturable": inv.total, "status": "unavailable"},
        "regulated_status": "unregulated", "three_d_secure": None,
        "transaction_link_id": since(FIRST_DAHLIA, None), "wallet": None,
    }


def credit_grant(sub, seed: str, moment: int) -> dict:
    """Of a product that Coffer does not use: nobody here decodes its kind."""
    return {
        "id": identifier("credgr", seed), "object": "billing.credit_grant",
        "amount": {"monetary": {"currency": "usd", "value": 100}, "type": "monetary"},
        "applicability_config": {"scope": {"price_type": "metered"}}, "category": "promotional",
        "created": moment, "customer": sub.customer, "customer_account": since(CLOVER, None),
        "effective_at": moment, "expires_at": None, "livemode": True, "metadata": {},
        "name": "Sorry for the trouble", "priority": since(CLOVER, 50), "test_clock": None,
        "updated": moment, "voided_at": None,
    }
