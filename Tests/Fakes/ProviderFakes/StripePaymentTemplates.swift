/// Stripe's complete customers and payments, from the same sources as the billing objects.
extension StripeTemplate {
  /// The person who pays.
  static let customer = StripeTemplate(
    """
    {
      "id": "$id", "object": "customer",
      "address": {
        "city": "Göteborg", "country": "SE", "line1": "Östra Hamngatan 1", "line2": null,
        "postal_code": "411 10", "state": null
      },
      "balance": "$balance", "created": "$created", "currency": "usd",
      "customer_account >=2025-09-30": null, "default_source": null,
      "delinquent": "$delinquent", "description": null, "discount": null, "email": "$email",
      "invoice_prefix": "$invoice_prefix",
      "invoice_settings": {
        "custom_fields": null, "default_payment_method": "$payment_method", "footer": null,
        "rendering_options": null
      },
      "livemode": "$live", "metadata": {}, "name": "$name",
      "next_invoice_sequence": "$next_invoice_sequence", "phone": null,
      "preferred_locales": ["sv-SE"], "shipping": null, "tax_exempt": "none",
      "test_clock": null
    }
    """)

  /// A checkout page.
  static let session = StripeTemplate(
    """
    {
      "id": "$id", "object": "checkout.session",
      "adaptive_pricing >=2024-09-30": {"enabled": true}, "after_expiration": null,
      "allow_promotion_codes": null, "amount_subtotal": "$amount", "amount_total": "$amount",
      "automatic_tax": {
        "enabled": false, "liability >=2024-09-30": null, "provider >=2025-09-30": null,
        "status": null
      },
      "billing_address_collection": null, "cancel_url": "https://coffer.example/plans",
      "client_reference_id": "$reference", "client_secret": null,
      "collected_information >=2025-03-31": {
        "business_name >=2025-09-30": null, "individual_name >=2025-09-30": null,
        "shipping_details": null
      },
      "consent": null, "consent_collection": null, "created": "$created", "currency": "usd",
      "currency_conversion": null, "custom_fields": [],
      "custom_text": {
        "after_submit": null, "shipping_address": null, "submit": null,
        "terms_of_service_acceptance": null
      },
      "customer": "$customer", "customer_account >=2025-09-30": null,
      "customer_creation": "always",
      "customer_details": {
        "address": {
          "city": "Göteborg", "country": "SE", "line1": "Östra Hamngatan 1", "line2": null,
          "postal_code": "411 10", "state": null
        },
        "business_name >=2025-09-30": null, "email": "$email",
        "individual_name >=2025-09-30": null, "name": "$name", "phone": null,
        "tax_exempt": "none", "tax_ids": []
      },
      "customer_email": null, "discounts >=2024-09-30": [], "expires_at": "$expires_at",
      "integration_identifier >=2026-03-25": null, "invoice >=2022-08-01": "$invoice",
      "invoice_creation": null, "livemode": "$live", "locale": "sv",
      "managed_payments >=2026-03-25": {"enabled": false}, "metadata": "$metadata",
      "mode": "subscription", "origin_context >=2025-09-30": null, "payment_intent": null,
      "payment_link": null, "payment_method_collection": "$payment_method_collection",
      "payment_method_configuration_details >=2024-09-30": null,
      "payment_method_options": {"card": {"request_three_d_secure": "automatic"}},
      "payment_method_types": "$payment_method_types", "payment_status": "$payment_status",
      "permissions >=2025-03-31": null, "phone_number_collection": {"enabled": false},
      "recovered_from": null,
      "saved_payment_method_options >=2024-09-30": {
        "allow_redisplay_filters": ["always"], "payment_method_remove": "disabled",
        "payment_method_save": null
      },
      "setup_intent": null, "shipping <2022-08-01": null, "shipping_address_collection": null,
      "shipping_cost >=2022-08-01": null, "shipping_details >=2022-08-01 <2025-03-31": null,
      "shipping_options": [], "shipping_rate <2022-08-01": null, "status": "$status",
      "submit_type": null, "subscription": "$subscription",
      "success_url": "https://coffer.example/welcome?session={CHECKOUT_SESSION_ID}",
      "total_details": {
        "amount_discount": 0, "amount_shipping": 0, "amount_tax": 0
      },
      "ui_mode >=2024-09-30 <2026-03-25": "hosted", "ui_mode >=2026-03-25": "hosted_page",
      "url": "$url", "wallet_options >=2025-09-30": null
    }
    """)

  /// One attempt to take money.
  static let charge = StripeTemplate(
    """
    {
      "id": "$charge", "object": "charge", "amount": "$amount", "amount_captured": "$captured",
      "amount_refunded": "$refunded_amount", "application": null, "application_fee": null,
      "application_fee_amount": null, "balance_transaction": "$transaction",
      "billing_details": {
        "address": {
          "city": "Göteborg", "country": "SE", "line1": "Östra Hamngatan 1", "line2": null,
          "postal_code": "411 10", "state": null
        },
        "email": "$email", "name": "$name", "phone": null, "tax_id >=2024-09-30": null
      },
      "calculated_statement_descriptor": "COFFER", "captured": "$succeeded",
      "created": "$created", "currency": "usd", "customer": "$customer",
      "description": "Subscription update", "destination <2022-11-15": null,
      "dispute": "$dispute", "disputed": "$disputed", "failure_balance_transaction": null,
      "failure_code": "$failure_code", "failure_message": "$failure_message",
      "fraud_details": {}, "invoice <2025-03-31": "$invoice", "livemode": "$live",
      "metadata": {}, "on_behalf_of": null, "order <2025-03-31": null, "outcome": "$outcome",
      "paid": "$succeeded", "payment_intent": "$payment_intent",
      "payment_method": "$payment_method",
      "payment_method_details": {
        "card": {
          "amount_authorized": "$amount", "authorization_code": "017842", "brand": "visa",
          "checks": {
            "address_line1_check": "pass", "address_postal_code_check": "pass",
            "cvc_check": "pass"
          },
          "country": "SE", "exp_month": 8, "exp_year": 2031,
          "extended_authorization": {"status": "disabled"}, "fingerprint": "$fingerprint",
          "funding": "debit", "incremental_authorization": {"status": "unavailable"},
          "installments": null, "last4": "4242", "mandate": null,
          "multicapture": {"status": "unavailable"}, "network": "visa",
          "network_token": {"used": false}, "network_transaction_id": "485207713906253",
          "overcapture": {
            "maximum_amount_capturable": "$amount", "status": "unavailable"
          },
          "regulated_status": "unregulated", "three_d_secure": null,
          "transaction_link_id >=2026-03-25": null, "wallet": null
        },
        "type": "card"
      },
      "presentment_details >=2025-03-31": null, "radar_options": {}, "receipt_email": "$email",
      "receipt_number": null, "receipt_url": "$receipt_url", "refunded": "$refunded",
      "refunds <2022-11-15": "$refunds", "review": null, "shipping": null, "source": null,
      "source_transfer": null, "statement_descriptor": "COFFER",
      "statement_descriptor_suffix": null, "status": "$status", "transfer_data": null,
      "transfer_group": null
    }
    """)

  /// All attempts to pay one invoice.
  static let paymentIntent = StripeTemplate(
    """
    {
      "id": "$payment_intent", "object": "payment_intent", "amount": "$amount",
      "amount_capturable": 0, "amount_details >=2024-09-30": {"tip": {}},
      "amount_received": "$received", "application": null, "application_fee_amount": null,
      "automatic_payment_methods >=2024-09-30": null, "canceled_at": null,
      "cancellation_reason": null, "capture_method": "automatic",
      "charges <2022-11-15": "$charges", "client_secret": "$client_secret",
      "confirmation_method": "automatic", "created": "$created", "currency": "usd",
      "customer": "$customer", "customer_account >=2025-09-30": null,
      "description": "Subscription update", "excluded_payment_method_types >=2025-09-30": null,
      "invoice <2025-03-31": "$invoice", "last_payment_error": "$error",
      "latest_charge >=2022-11-15": "$charge", "livemode": "$live", "metadata": {},
      "next_action": null, "on_behalf_of": null,
      "payment_details >=2025-03-31": {
        "customer_reference": null, "order_reference": "$invoice"
      },
      "payment_method": "$payment_method",
      "payment_method_configuration_details >=2024-09-30": null,
      "payment_method_options": {
        "card": {
          "installments": null, "mandate_options": null, "network": null,
          "request_three_d_secure": "automatic", "setup_future_usage": "off_session"
        }
      },
      "payment_method_types": ["card"], "processing": null, "receipt_email": null,
      "review": null, "setup_future_usage": "off_session", "shipping": null, "source": null,
      "statement_descriptor": null, "statement_descriptor_suffix": null,
      "status": "$intent_status", "transfer_data": null, "transfer_group": null
    }
    """)

  /// Connects a payment with its invoice; new in basil (2025-03-31).
  static let invoicePayment = StripeTemplate(
    """
    {
      "id": "$id", "object": "invoice_payment", "amount_paid": "$amount_paid",
      "amount_requested": "$amount", "created": "$created", "currency": "usd",
      "invoice": "$invoice", "is_default": true, "livemode": "$live",
      "payment": {"payment_intent": "$payment_intent", "type": "payment_intent"},
      "status": "$status",
      "status_transitions": {"canceled_at": "$canceled_at", "paid_at": "$paid_at"}
    }
    """)

  /// Money on its way back.
  static let refund = StripeTemplate(
    """
    {
      "id": "$id", "object": "refund", "amount": "$amount", "balance_transaction": "$transaction",
      "charge": "$charge", "created": "$created", "currency": "usd",
      "destination_details >=2024-09-30": {
        "card": {
          "reference": "$reference", "reference_status": "$reference_status",
          "reference_type": "acquirer_reference_number", "type": "refund"
        },
        "type": "card"
      },
      "failure_balance_transaction": "$failure_transaction", "failure_reason": "$failure_reason",
      "metadata": {}, "payment_intent": "$payment_intent",
      "pending_reason >=2025-09-30": "$pending_reason", "reason": "$reason",
      "receipt_number": null, "source_transfer_reversal": null, "status": "$status",
      "transfer_reversal": null
    }
    """)

  /// A payment that the bank disputes.
  static let dispute = StripeTemplate(
    """
    {
      "id": "$id", "object": "dispute", "amount": "$amount", "balance_transactions": [],
      "charge": "$charge", "created": "$created", "currency": "usd",
      "enhanced_eligibility_types >=2025-03-31": [],
      "evidence": {
        "access_activity_log": null, "billing_address": null, "cancellation_policy": null,
        "cancellation_policy_disclosure": null, "cancellation_rebuttal": null,
        "customer_communication": null, "customer_email_address": "$email",
        "customer_name": "$name", "customer_purchase_ip": "192.0.2.17",
        "customer_signature": null, "duplicate_charge_documentation": null,
        "duplicate_charge_explanation": null, "duplicate_charge_id": null,
        "enhanced_evidence >=2025-03-31": {}, "product_description": null, "receipt": null,
        "refund_policy": null, "refund_policy_disclosure": null,
        "refund_refusal_explanation": null, "service_date": null,
        "service_documentation": null, "shipping_address": null, "shipping_carrier": null,
        "shipping_date": null, "shipping_documentation": null,
        "shipping_tracking_number": null, "uncategorized_file": null,
        "uncategorized_text": null
      },
      "evidence_details": {
        "due_by": "$due_by", "enhanced_eligibility >=2025-03-31": {}, "has_evidence": "$has_evidence",
        "past_due": false, "submission_count": "$submission_count"
      },
      "is_charge_refundable": false, "livemode": "$live", "metadata": {},
      "payment_intent": "$payment_intent",
      "payment_method_details >=2024-09-30": {
        "card": {
          "brand": "visa", "case_type": "chargeback", "network_reason_code": "10.4"
        },
        "type": "card"
      },
      "reason": "$reason", "status": "$status"
    }
    """)
}
