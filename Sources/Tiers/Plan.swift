/// The storage that an account may use, under a name for people, and its prices.
///
/// Coverage copies it for every period of a subscription, so it is a class: a copy is one reference.
package final class Plan: Sendable {
  /// The stable id, e.g. `premium`, as written in schedules and responses.
  package let id: String
  package let title: String
  package let byteCount: Int64
  /// Whether the plan is added to anything else that is owed. Otherwise only the largest plan counts.
  package let isAddition: Bool
  /// The limits besides bytes.
  package let limits: Limits
  /// The prices; empty for a plan that no one buys.
  package let prices: [Price]
  /// The providers' ids that sell this plan.
  package let products: [Product]

  package init(
    id: String, title: String, byteCount: Int64, isAddition: Bool = false,
    limits: Limits = Limits(), prices: [Price] = [], products: [Product] = []
  ) {
    self.id = id
    self.title = title
    self.byteCount = byteCount
    self.isAddition = isAddition
    self.limits = limits
    self.prices = prices
    self.products = products
  }

  /// Whether an account with this plan can store less than one with `free`.
  package func isLess(than free: Plan) -> Bool { !isAddition && byteCount < free.byteCount }

  /// The limits of an account of the plan, besides bytes; nil: the same as for any account.
  package struct Limits: Hashable, Sendable {
    /// Live files and folders.
    package let recordCount: Int64?
    /// Shares in its trees, pending or accepted.
    package let shareCount: Int64?
    /// The largest content of one document.
    package let fileByteCount: Int64?
    /// For how many days replaced contents are kept; nil: they are not kept.
    package let historyDays: Int64?
    /// The most versions that are kept of one document, besides its content; nil: any number.
    package let historyVersionCount: Int64?
    /// For how many days deleted files are kept; nil: they are not kept.
    package let trashDays: Int64?

    package init(
      recordCount: Int64? = nil, shareCount: Int64? = nil, fileByteCount: Int64? = nil,
      historyDays: Int64? = nil, historyVersionCount: Int64? = nil, trashDays: Int64? = nil
    ) {
      self.recordCount = recordCount
      self.shareCount = shareCount
      self.fileByteCount = fileByteCount
      self.historyDays = historyDays
      self.historyVersionCount = historyVersionCount
      self.trashDays = trashDays
    }

    package var isEmpty: Bool { self == Limits() }
  }

  /// An amount per interval, in the currency's minor units.
  package struct Price: Hashable, Sendable {
    package let amountMinorUnits: Int64
    /// ISO 4217 in lower case, e.g. `usd`.
    package let currency: String
    package let interval: Interval

    package init(amountMinorUnits: Int64, currency: String, interval: Interval) {
      self.amountMinorUnits = amountMinorUnits
      self.currency = currency
      self.interval = interval
    }
  }

  package enum Interval: String, Sendable, CaseIterable { case month, year }

  /// One id of one provider: of a price, or of a product at any price.
  package struct Product: Hashable, Sendable {
    /// The store's name.
    package let provider: String
    package let id: String
    /// The price that this id stands for; nil if it stands for every price of the plan.
    package let price: Price?
    /// If the id is a price's, the product that is sold at it, if the catalogue names the product.
    package let productID: String?
    /// The number of free days if it is an account's first purchase; nil: none.
    package let trialDays: Int64?

    package init(
      provider: String, id: String, price: Price? = nil, productID: String? = nil,
      trialDays: Int64? = nil
    ) {
      self.provider = provider
      self.id = id
      self.price = price
      self.productID = productID
      self.trialDays = trialDays
    }
  }
}

extension Plan: Hashable {
  package static func == (a: Plan, b: Plan) -> Bool {
    a === b
      || a.id == b.id && a.title == b.title && a.byteCount == b.byteCount
        && a.isAddition == b.isAddition && a.limits == b.limits && a.prices == b.prices
        && a.products == b.products
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
