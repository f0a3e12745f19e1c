internal import Base
internal import Crypto
internal import TestFiles

/// Signed deliveries of distinct Stripe events, each about a subscription of its own.
///
/// By turns a `customer.subscription.updated` and an `invoice.paid`, in the shape and size and with
/// the indentation that Stripe sends (API 2026-07-29.dahlia).
struct StripeEvents {
  static let target = "/webhooks/stripe"

  private let templates: [Template]
  private let secret: Secret
  private let seed: UInt64

  init(directory: String, secret: Secret, seed: UInt64, now: Instant) throws(BenchError) {
    var templates: [Template] = []
    for name in ["customer.subscription.updated", "invoice.paid"] {
      let path = "\(directory)/\(name).json"
      guard let text = Files.text(path) else { throw .system("read \(path)", errno: 2) }
      templates.append(Template(text, now: now))
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
      let body = templates[index % templates.count].body(
        order: digits(UInt64(index)), serial: serial(index))
      let stamp = "\(now.seconds)"
      let code = HMACSHA256.code(key: secret, Array("\(stamp).".utf8), body)
      requests.append(
        "POST", Self.target, host: "127.0.0.1",
        fields: [
          ("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)"), ("Accept", "*/*"),
          ("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-cache"),
          ("Stripe-Signature", "t=\(stamp),v1=\(Hex.encode(code))"),
        ], body: body)
    }
    return requests
  }

  var bodyByteCount: Int { templates.map(\.byteCount).reduce(0, +) / templates.count }

  /// Different for every index and in no order, as the subscriptions that events are about.
  private func serial(_ index: Int) -> [UInt8] {
    // The step has no factor in common with 10^12, so no number comes twice, and it is the golden
    // section of it, so numbers near in time are far apart.
    digits((UInt64(index) &* 618_033_988_749 &+ seed % 1_000_000_007) % 1_000_000_000_000)
  }

  private func digits(_ number: UInt64) -> [UInt8] {
    var digits = [UInt8](repeating: UInt8(ascii: "0"), count: Template.digitCount)
    var rest = number
    for place in digits.indices.reversed() {
      digits[place] += UInt8(rest % 10)
      rest /= 10
    }
    return digits
  }
}

/// An event with `{{order}}` and `{{serial}}` where ids differ, `{{now}}` and `{{end}}` where times
/// stand.
///
/// `{{order}}` grows from event to event, for what was made just now: an id of Stripe's begins with
/// the time it was made (evt_1CiPtv… is of 2018, evt_1NG8Du… of 2023). `{{serial}}` jumps about, for
/// subscriptions, customers and accounts, which are of any age.
private struct Template {
  static let digitCount = 12
  private static let monthSeconds: Int64 = 30 * 86_400

  /// What stands between one order and the next, and in it between one serial and the next.
  private let parts: [[[UInt8]]]

  init(_ text: String, now: Instant) {
    parts = text.pieces(between: "{{now}}").joined(separator: "\(now.seconds)")
      .pieces(between: "{{end}}").joined(separator: "\(now.seconds + Self.monthSeconds)")
      .pieces(between: "{{order}}")
      .map { $0.pieces(between: "{{serial}}").map { Array($0.utf8) } }
  }

  func body(order: [UInt8], serial: [UInt8]) -> [UInt8] {
    Array(parts.map { $0.joined(separator: serial) }.joined(separator: order))
  }

  var byteCount: Int {
    let digits = [UInt8](repeating: UInt8(ascii: "0"), count: Self.digitCount)
    return body(order: digits, serial: digits).count
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
