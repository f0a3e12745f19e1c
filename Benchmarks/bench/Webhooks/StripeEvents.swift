import Base
import Crypto
import JSON
import TestFiles

/// Signed deliveries of distinct Stripe events, each about a different subscription.
///
/// By turns a `customer.subscription.updated` and an `invoice.paid`, in the form, the size and the
/// indentation that Stripe sends (API 2026-07-29.dahlia).
struct StripeEvents {
  static let target = "/webhooks/stripe"
  static let month = Instant.Span.days(30)

  private let templates: [EventTemplate]
  private let secret: Secret
  private let seed: UInt64

  /// Events of test mode, as in the files, or of live mode.
  init(
    directory: String, secret: Secret, seed: UInt64, isLive: Bool = false
  ) throws(BenchError) {
    var templates: [EventTemplate] = []
    for name in ["customer.subscription.updated", "invoice.paid"] {
      templates.append(try EventTemplate(directory: directory, name, isLive: isLive))
    }
    self.templates = templates
    self.secret = secret
    self.seed = seed
  }

  /// The first `count` events, signed as of `now`.
  func requests(_ count: Int, now: Instant) -> Requests {
    var requests = Requests()
    requests.reserve(count, byteCountEach: 5700)
    for index in 0..<count {
      append(event(index, now: now), to: &requests)
    }
    return requests
  }

  func append(
    _ event: (body: [UInt8], signature: String), to requests: inout Requests
  ) {
    requests.append(
      "POST", Self.target, host: "127.0.0.1",
      fields: [
        ("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)"), ("Accept", "*/*"),
        ("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-cache"),
        ("Stripe-Signature", event.signature),
      ], body: event.body)
  }

  /// One event with its signature as of `now`.
  func event(_ index: Int, now: Instant) -> (body: [UInt8], signature: String) {
    event(template: index % templates.count, order: index, serial: index, at: now, signed: now)
  }

  /// One template's event about subscription `serial`, a month of which began at that moment.
  func event(
    template: Int, order: Int, serial: Int, at moment: Instant, signed: Instant
  ) -> (body: [UInt8], signature: String) {
    let body = templates[template].body(
      order: Serial.padded(UInt64(order)), serial: Serial.digits(serial, seed: seed), at: moment)
    let stamp = "\(signed.seconds)"
    let code = HMACSHA256.code(key: secret, Array("\(stamp).".utf8), body)
    return (body, "t=\(stamp),v1=\(Hex.encode(code))")
  }

  var bodyByteCount: Int { templates.map(\.byteCount).reduce(0, +) / templates.count }
}

/// An event with `{{order}}` and `{{serial}}` in place of ids, `{{now}}` and `{{end}}` in place of times.
///
/// `{{order}}` grows from event to event, for objects that were made just now: a Stripe id begins with the
/// time of its creation (evt_1CiPtv… is from 2018, evt_1NG8Du… from 2023). `{{serial}}` has no order, for
/// subscriptions, customers and accounts, which are of any age.
struct EventTemplate {
  private enum Mark: String, CaseIterable { case order, serial, now, end }

  /// The text before each mark, and after the last.
  private let literals: [[UInt8]]
  private let marks: [Mark]

  init(directory: String, _ name: String, isLive: Bool) throws(BenchError) {
    let path = "\(directory)/\(name).json"
    guard let text = Files.text(path) else { throw .system("read \(path)", errno: 2) }
    let mode = "\"livemode\": "
    self.init(isLive ? text.replacing("\(mode)false", with: "\(mode)true") : text)
  }

  /// The object of such an event of live mode. A subscription names the invoice of its event.
  init(objectOf name: String, directory: String) throws(BenchError) {
    let event = try EventTemplate(directory: directory, name, isLive: true)
    // Words and times that no event contains replace the marks, which are not JSON.
    let now = Instant(seconds: 1_111_111_111)
    let body = event.body(order: "ORDER", serial: "SERIAL", at: now)
    guard let json = try? JSON.parse(body), let object = JSONValue(json["data"]["object"]) else {
      throw .command("\(name) has no object")
    }
    let marks = [
      ("}", "} "), ("\(now.seconds)", "{{now}}"),
      ("\((now + StripeEvents.month).seconds)", "{{end}}"),
      (#""latest_invoice":"in_1SSERIAL"#, #""latest_invoice":"in_1SORDER"#), ("ORDER", "{{order}}"),
      ("SERIAL", "{{serial}}"),
    ]
    self.init(
      marks.reduce(String(decoding: object.encoded(), as: UTF8.self)) {
        $0.replacing($1.0, with: $1.1)
      })
  }

  private init(_ text: String) {
    var literals: [[UInt8]] = []
    var marks: [Mark] = []
    for (index, piece) in text.pieces(between: "{{").enumerated() {
      let parts = piece.pieces(between: "}}")
      if index > 0, parts.count == 2, let mark = Mark(rawValue: parts[0]) {
        marks.append(mark)
        literals.append(Array(parts[1].utf8))
      } else {
        literals.append(Array(piece.utf8))
      }
    }
    self.literals = literals
    self.marks = marks
  }

  func body(order: String, serial: String, at moment: Instant) -> [UInt8] {
    let values = Mark.allCases.map { mark in
      switch mark {
      case .order: Array(order.utf8)
      case .serial: Array(serial.utf8)
      case .now: Array("\(moment.seconds)".utf8)
      case .end: Array("\((moment + StripeEvents.month).seconds)".utf8)
      }
    }
    let byMark = Dictionary(uniqueKeysWithValues: zip(Mark.allCases, values))
    var body = literals[0]
    for (mark, literal) in zip(marks, literals.dropFirst()) {
      body += byMark[mark] ?? []
      body += literal
    }
    return body
  }

  var byteCount: Int {
    let digits = Serial.padded(0)
    return body(order: digits, serial: digits, at: .now).count
  }
}

extension String {
  fileprivate func pieces(between mark: String) -> [String] {
    var pieces = [""]
    var rest = self[...]
    while let character = rest.first {
      if rest.hasPrefix(mark) {
        rest = rest.dropFirst(mark.count)
        pieces.append("")
      } else {
        pieces[pieces.count - 1].append(character)
        rest = rest.dropFirst()
      }
    }
    return pieces
  }
}
