import StoreFacts
import Stripe

/// A payment of an invoice, as basil and later versions report it.
func invoicePayment(
  _ created: Double, _ id: String, of invoice: String, by payment: String,
  _ status: StripeInvoicePayment.Status = .paid
) -> Story.Delivery {
  Story.Delivery(
    object: .invoicePayment(
      StripeInvoicePayment(invoice: invoice, payment: payment, status: status)),
    id: id, created: at(created))
}

func refund(
  _ created: Double, _ id: String, _ status: StripeRefund.Status = .succeeded,
  amount: Int64 = 299, of payment: String? = "pi_1", charge: String? = nil, made: Double? = nil
) -> Story.Delivery {
  Story.Delivery(
    object: .refund(
      StripeRefund(
        paymentIntent: payment, charge: charge, amountMinorUnits: amount,
        created: at(made ?? created), status: status)),
    id: id, created: at(created))
}

func dispute(
  _ created: Double, _ status: StripeDispute.Status, of payment: String? = "pi_1",
  charge: String? = nil, made: Double? = nil, id: String = "du_1"
) -> Story.Delivery {
  Story.Delivery(
    object: .dispute(
      StripeDispute(
        paymentIntent: payment, charge: charge, amountMinorUnits: 299,
        created: at(made ?? created), status: status)),
    id: id, created: at(created))
}

func charge(
  _ created: Double, refunded amount: Int64, id: String = "ch_1", of payment: String? = "pi_1",
  invoice: String? = nil
) -> Story.Delivery {
  Story.Delivery(
    object: .charge(
      StripeCharge(paymentIntent: payment, invoice: invoice, amountRefunded: amount)),
    id: id, created: at(created))
}
