internal import Accounts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Report
internal import Sync
internal import Tiers

typealias StorageSum = StorageFigures.Sum

/// A month's figures for programs.
enum ReportJSON {
  private static let names: [JSONShape.Member] = [
    .init("store", .text), .init("plan", .orNull(.text)), .init("interval", .text),
  ]

  private static let movementShape: JSONShape = [
    "opening": .integer, "new": .integer, "returned": .integer, "changed_in": .integer,
    "changed_out": .integer, "lost": .integer, "closing": .integer,
  ]

  private static let trialsShape: JSONShape = [
    "opening": .integer, "started": .integer, "converted": .integer, "ended": .integer,
    "closing": .integer,
  ]

  private static let failuresShape: JSONShape = [
    "opening": .integer, "failed": .integer, "recovered": .integer, "lost": .integer,
    "closing": .integer,
  ]

  private static let revenueShape: JSONShape = [
    "payments": .integer, "gross": .text, "refunds": .integer, "refunded": .text,
    "disputes": .integer, "disputed": .text, "net": .text,
  ]

  private static let storageShape: JSONShape = [
    "accounts": .integer, "usage": .integer, "over_cap": .integer, "over_cap_bytes": .integer,
  ]

  static let shape: JSONShape = [
    "month": .text, "to_date": .orNull(.time), "made": .time, "environment": .text,
    "catalogue": ["version": .text, "digest": .text],
    "subscribers": movementShape.adding([
      .init("segments", .list(movementShape.adding(names))),
      .init("reasons", .list(["reason": .text, "subscribers": .integer])),
    ]),
    "trials": trialsShape, "failed_payments": failuresShape,
    "revenue": .list(
      revenueShape.adding([
        .init("currency", .text), .init("segments", .list(revenueShape.adding(names))),
      ])),
    "untold": ["payments": .integer, "reversals": .integer],
    "months": .list([
      "month": .text, "to_date": .orNull(.time), "subscribers": movementShape,
      "trials": trialsShape,
      "failed_payments": failuresShape,
      "revenue": .list(revenueShape.adding([.init("currency", .text)])),
    ]),
    "storage": storageShape.adding([
      .init("opened", .integer),
      .init("plans", .list(storageShape.adding([.init("plan", .text)]))),
    ]),
  ]

  static func value(_ figures: ReportFigures) -> JSONValue {
    let month = figures.month
    return [
      "month": .string(month.month.description),
      "to_date": month.toDate.map(JSONValue.moment) ?? .null,
      "made": .string(figures.made.description),
      "environment": .string(figures.environment),
      "catalogue": [
        "version": .string(figures.catalogue.version),
        "digest": .string(figures.catalogue.digest),
      ],
      "subscribers": .object(
        members(figures.movement) + [
          .init(
            "segments",
            .array(figures.segments.map { .object(members($0.segment) + members($0.movement)) })),
          .init(
            "reasons",
            .array(
              figures.reasons.map {
                ["reason": .string($0.reason.rawValue), "subscribers": .integer($0.count)]
              })),
        ]),
      "trials": .object(members(figures.trials)),
      "failed_payments": .object(members(figures.failures)),
      "revenue": .array(
        month.currencies.map { currency in
          .object(
            members(month.revenue(in: currency), currency) + [
              .init("currency", .string(currency)),
              .init(
                "segments",
                .array(
                  figures.revenue(in: currency).map {
                    .object(members($0.segment) + members($0.revenue, currency))
                  })),
            ])
        }),
      "untold": [
        "payments": .integer(month.untold.paymentCount),
        "reversals": .integer(month.untold.reversalCount),
      ],
      "months": .array(month.months.indices.map { value(month, $0) }),
      "storage": .object(
        members(figures.storage.total) + [
          .init("opened", .integer(figures.storage.openedCount)),
          .init(
            "plans",
            .array(
              figures.storageOfPlans.map {
                .object(members($0.sum) + [.init("plan", .string($0.plan))])
              })),
        ]),
    ]
  }

  private static func value(_ report: MonthlyReport, _ index: Int) -> JSONValue {
    [
      "month": .string(report.months[index].description),
      "to_date": index == report.months.count - 1
        ? report.toDate.map(JSONValue.moment) ?? .null : .null,
      "subscribers": .object(members(report.movements[index])),
      "trials": .object(members(report.trials[index])),
      "failed_payments": .object(members(report.failures[index])),
      "revenue": .array(
        report.currencies.compactMap { currency in
          report.revenueOfMonths[currency].map {
            .object(members($0[index], currency) + [.init("currency", .string(currency))])
          }
        }),
    ]
  }

  private static func members(_ segment: Segment) -> [JSONValue.Member] {
    [
      .init("store", .string(segment.store)),
      .init("plan", segment.plan.map { .string($0) } ?? .null),
      .init("interval", .string(segment.period.rawValue)),
    ]
  }

  private static func members(_ movement: MonthlyReport.Movement) -> [JSONValue.Member] {
    [
      .init("opening", .integer(movement.opening)), .init("new", .integer(movement.new)),
      .init("returned", .integer(movement.returned)),
      .init("changed_in", .integer(movement.changedIn)),
      .init("changed_out", .integer(movement.changedOut)),
      .init("lost", .integer(movement.lost)), .init("closing", .integer(movement.closing)),
    ]
  }

  private static func members(_ trials: MonthlyReport.Trials) -> [JSONValue.Member] {
    [
      .init("opening", .integer(trials.opening)), .init("started", .integer(trials.started)),
      .init("converted", .integer(trials.converted)), .init("ended", .integer(trials.ended)),
      .init("closing", .integer(trials.closing)),
    ]
  }

  private static func members(_ failures: MonthlyReport.Failures) -> [JSONValue.Member] {
    [
      .init("opening", .integer(failures.opening)), .init("failed", .integer(failures.failed)),
      .init("recovered", .integer(failures.recovered)), .init("lost", .integer(failures.lost)),
      .init("closing", .integer(failures.closing)),
    ]
  }

  private static func members(
    _ revenue: MonthlyReport.Revenue, _ currency: String
  ) -> [JSONValue.Member] {
    func text(_ sum: MoneySum) -> JSONValue { .string(sum.money(in: currency).amount) }
    return [
      .init("payments", .integer(revenue.paymentCount)), .init("gross", text(revenue.gross)),
      .init("refunds", .integer(revenue.refundCount)), .init("refunded", text(revenue.refunded)),
      .init("disputes", .integer(revenue.disputeCount)), .init("disputed", text(revenue.disputed)),
      .init("net", text(revenue.net)),
    ]
  }

  private static func members(_ sum: StorageSum) -> [JSONValue.Member] {
    [
      .init("accounts", .integer(sum.accountCount)), .init("usage", .integer(sum.usageByteCount)),
      .init("over_cap", .integer(sum.overCapAccountCount)),
      .init("over_cap_bytes", .integer(sum.overCapByteCount)),
    ]
  }
}
