/// Stripe's complete billing objects: members of all API versions, and members of some.
///
/// Shape: https://github.com/stripe/openapi at API 2026-07-29.dahlia. The differences of older versions are
/// from the API changelog (https://docs.stripe.com/changelog).
extension StripeTemplate {
  /// A product's price; `plan` is its older form.
  static let price = StripeTemplate(
    """
    {
      "id": "$price", "object": "price", "active": true, "billing_scheme": "per_unit",
      "created": 1735812000, "currency": "usd", "custom_unit_amount": null,
      "livemode": "$live", "lookup_key": null, "metadata": {}, "nickname": "$nickname",
      "product": "$product",
      "recurring": {
        "aggregate_usage <2025-03-31": null, "interval": "$interval", "interval_count": 1,
        "meter >=2024-09-30": null, "trial_period_days": null, "usage_type": "licensed"
      },
      "tax_behavior": "unspecified", "tiers_mode": null, "transform_quantity": null,
      "type": "recurring", "unit_amount": "$amount", "unit_amount_decimal": "$amount_text"
    }
    """)

  /// The older form of a price.
  static let plan = StripeTemplate(
    """
    {
      "id": "$price", "object": "plan", "active": true, "aggregate_usage <2025-03-31": null,
      "amount": "$amount", "amount_decimal": "$amount_text", "billing_scheme": "per_unit",
      "created": 1735812000, "currency": "usd", "interval": "$interval", "interval_count": 1,
      "livemode": "$live", "metadata": {}, "meter >=2024-09-30": null, "nickname": "$nickname",
      "product": "$product", "tiers_mode": null, "transform_usage": null,
      "trial_period_days": null, "usage_type": "licensed"
    }
    """)

  /// An item that a subscription bills.
  static let item = StripeTemplate(
    """
    {
      "id": "$item", "object": "subscription_item", "billing_thresholds": null,
      "created": "$created", "current_period_end >=2025-03-31": "$period_end",
      "current_period_start >=2025-03-31": "$period_start", "discounts >=2024-09-30": [],
      "metadata": {}, "plan": "$plan", "price": "$price", "quantity": 1,
      "subscription": "$subscription", "tax_rates": []
    }
    """)

  /// Since basil (2025-03-31) the period is in the items.
  static let subscription = StripeTemplate(
    """
    {
      "id": "$id", "object": "subscription", "application": null,
      "application_fee_percent": null,
      "automatic_tax": {
        "disabled_reason >=2024-09-30": null, "enabled": false, "liability >=2024-09-30": null
      },
      "billing_cycle_anchor": "$anchor", "billing_cycle_anchor_config >=2024-09-30": null,
      "billing_mode >=2025-09-30": {
        "flexible": {"proration_discounts": "included"}, "type": "flexible",
        "updated_at": "$created"
      },
      "billing_schedules >=2026-03-25": [], "billing_thresholds": null,
      "cancel_at": "$cancel_at", "cancel_at_period_end": "$cancel_at_period_end",
      "canceled_at": "$canceled_at",
      "cancellation_details": {
        "comment": null, "feedback": "$feedback", "reason": "$reason"
      },
      "collection_method": "$collection_method", "created": "$created", "currency": "usd",
      "current_period_end <2025-03-31": "$period_end",
      "current_period_start <2025-03-31": "$period_start", "customer": "$customer",
      "customer_account >=2025-09-30": null, "days_until_due": "$days_until_due",
      "default_payment_method": "$payment_method", "default_source": null,
      "default_tax_rates": [], "description": null, "discount <2025-03-31": null,
      "discounts >=2024-09-30": "$discounts", "ended_at": "$ended_at",
      "invoice_settings >=2024-09-30": {
        "account_tax_ids": null, "custom_fields >=2026-03-25": null,
        "description >=2026-03-25": null, "footer >=2026-03-25": null,
        "issuer": {"type": "self"}
      },
      "items": "$items", "latest_invoice": "$latest_invoice", "livemode": "$live",
      "managed_payments >=2026-03-25": {"enabled": false}, "metadata": "$metadata",
      "next_pending_invoice_item_invoice": null, "on_behalf_of": null,
      "pause_collection": "$pause_collection",
      "payment_settings": {
        "payment_method_options": {
          "acss_debit": null, "bancontact": null,
          "card": {"network": null, "request_three_d_secure": "automatic"},
          "customer_balance": null, "konbini": null, "payto >=2025-09-30": null,
          "pix >=2026-03-25": null, "sepa_debit >=2024-09-30": null, "upi >=2026-03-25": null,
          "us_bank_account": null
        },
        "payment_method_types": null, "save_default_payment_method": "off"
      },
      "pending_invoice_item_interval": null, "pending_setup_intent": null,
      "pending_update": "$pending_update", "plan <2025-03-31": "$plan",
      "quantity <2025-03-31": 1, "schedule": "$schedule", "start_date": "$created",
      "status": "$status", "status_details >=2026-09-30": {"paused": "$paused"},
      "test_clock": null, "transfer_data": null, "trial_end": "$trial_end",
      "trial_settings": {
        "end_behavior": {"missing_payment_method": "$missing_payment_method"}
      },
      "trial_start": "$trial_start"
    }
    """)

  /// One entry of an invoice.
  static let line = StripeTemplate(
    """
    {
      "id": "$id", "object": "line_item", "amount": "$amount",
      "amount_excluding_tax <2025-03-31": "$amount", "currency": "usd",
      "description": "$description", "discount_amounts": [], "discountable": "$discountable",
      "discounts": [], "invoice": "$invoice", "invoice_item <2025-03-31": "$invoice_item",
      "livemode": "$live", "metadata": "$metadata", "parent >=2025-03-31": "$parent",
      "period": {"end": "$to", "start": "$from"}, "plan <2025-03-31": "$plan",
      "pretax_credit_amounts >=2024-09-30": [], "price <2025-03-31": "$price",
      "pricing >=2025-03-31": {
        "price_details": {"price": "$price_id", "product": "$product"},
        "type": "price_details", "unit_amount_decimal": "$amount_text"
      },
      "proration <2025-03-31": "$proration",
      "proration_details <2025-03-31": "$proration_details", "quantity": 1,
      "quantity_decimal >=2026-03-25": "1", "subscription <2025-03-31": "$subscription",
      "subscription_item <2025-03-31": "$item", "subtotal >=2025-09-30": "$amount",
      "tax_amounts <2025-03-31": [], "tax_rates <2025-03-31": [], "taxes >=2025-03-31": [],
      "type <2025-03-31": "$type", "unit_amount_excluding_tax <2025-03-31": "$amount_text"
    }
    """)

  /// Since basil (2025-03-31) `parent` names the subscription, and no member names the payment.
  static let invoice = StripeTemplate(
    """
    {
      "id": "$id", "object": "invoice", "account_country": "US", "account_name": "Coffer",
      "account_tax_ids": null, "amount_due": "$amount_due", "amount_overpaid >=2025-09-30": 0,
      "amount_paid": "$amount_paid", "amount_remaining": "$amount_remaining",
      "amount_shipping": 0, "application": null, "application_fee_amount <2025-03-31": null,
      "attempt_count": "$attempt_count", "attempted": "$attempted",
      "auto_advance": "$auto_advance",
      "automatic_tax": {
        "disabled_reason >=2024-09-30": null, "enabled": false, "liability >=2024-09-30": null,
        "provider >=2025-09-30": null, "status": null
      },
      "automatically_finalizes_at >=2024-09-30": "$automatically_finalizes_at",
      "billing_reason": "$billing_reason", "charge <2025-03-31": "$charge",
      "collection_method": "$collection_method", "created": "$created", "currency": "usd",
      "custom_fields": null, "customer": "$customer", "customer_account >=2025-09-30": null,
      "customer_address": {
        "city": "Göteborg", "country": "SE", "line1": "Östra Hamngatan 1", "line2": null,
        "postal_code": "411 10", "state": null
      },
      "customer_email": "$email", "customer_name": "$name", "customer_phone": null,
      "customer_shipping": null, "customer_tax_exempt": "none", "customer_tax_ids": [],
      "default_payment_method": null, "default_source": null, "default_tax_rates": [],
      "description": null, "discount <2025-03-31": null, "discounts": [], "due_date": "$due_date",
      "effective_at": "$finalized_at", "ending_balance": "$ending_balance", "footer": null,
      "from_invoice": null, "hosted_invoice_url": "$hosted_invoice_url",
      "invoice_pdf": "$invoice_pdf", "issuer": {"type": "self"},
      "last_finalization_error": null, "latest_revision": null, "lines": "$lines",
      "livemode": "$live", "metadata": {}, "next_payment_attempt": "$next_payment_attempt",
      "number": "$number", "on_behalf_of": null, "paid <2025-03-31": "$paid",
      "paid_out_of_band <2025-03-31": "$paid_outside", "parent >=2025-03-31": "$parent",
      "payment_intent <2025-03-31": "$payment_intent",
      "payment_settings": {
        "default_mandate": null,
        "payment_method_options": {
          "acss_debit": null, "bancontact": null,
          "card": {"request_three_d_secure": "automatic"}, "customer_balance": null,
          "konbini": null, "payto >=2025-09-30": null, "pix >=2026-03-25": null,
          "sepa_debit >=2024-09-30": null, "upi >=2026-03-25": null, "us_bank_account": null
        },
        "payment_method_types": null
      },
      "period_end": "$period_end", "period_start": "$period_start",
      "post_payment_credit_notes_amount": 0, "pre_payment_credit_notes_amount": 0,
      "quote <2025-03-31": null, "receipt_number": null,
      "rendering >=2024-09-30": {
        "amount_tax_display": null, "pdf": {"page_size": "letter"}, "template": null,
        "template_version": null
      },
      "rendering_options <2024-09-30": null, "shipping_cost": null, "shipping_details": null,
      "starting_balance": "$starting_balance", "statement_descriptor": null,
      "status": "$status",
      "status_details >=2026-09-30": {"uncollectible": "$uncollectible"},
      "status_transitions": {
        "finalized_at": "$finalized_at", "marked_uncollectible_at": "$uncollectible_at",
        "paid_at": "$paid_at", "voided_at": "$voided_at"
      },
      "subscription <2025-03-31": "$subscription",
      "subscription_details <2025-03-31": {"metadata": "$metadata"}, "subtotal": "$total",
      "subtotal_excluding_tax": "$total", "tax <2025-03-31": null, "test_clock": null,
      "total": "$total", "total_discount_amounts": [], "total_excluding_tax": "$total",
      "total_pretax_credit_amounts >=2024-09-30": [], "total_tax_amounts <2025-03-31": [],
      "total_taxes >=2025-03-31": [], "transfer_data <2025-03-31": null,
      "webhooks_delivered_at": "$finalized_at"
    }
    """)
}
