package import Base
import JSON

/// A recorded delivery of Stripe's as it would come now for an account of ours.
///
/// All its times move by as much as its own does, and accounts that it names become the given one. Ids of the
/// customer's objects get digits of the account. So two accounts' objects stay apart, and those of one story stay
/// together. The event's id also gets the time, so that it is never used again. Products and prices stay.
package enum DeliveryOfToday {
  /// Nil if the body is no event of Stripe's.
  package static func made(
    from body: [UInt8], account: Identifier, now: Instant
  ) -> [UInt8]? {
    guard let event = try? JSON.parse(body), event["object"].string == "event",
      let created = try? event["created"].requireInstant().seconds
    else { return nil }
    let tag = account.description.filter { $0 != "-" }.suffix(12)
    let text = String(decoding: body, as: UTF8.self)
      .replacing(#/([:\[,]\s*)([12][0-9]{9})(?=\s*[,\]}])/#) { match in
        match.1 + String((Int64(match.2) ?? 0) - created + now.seconds)
      }
      .replacing(#/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/#) { _ in "\"\(account)\"" }
      .replacing(
        #/"(cs|cus|sub|sub_sched|si|in|il|ii|li|inpay|pi|pm|ch|py|re|du|dp|txn|cn)_([0-9A-Za-z]{10,})"/#
      ) { match in "\"\(match.1)_\(tag)\(match.2)\"" }
      .replacing(#/"evt_([0-9A-Za-z]{10,})"/#) { match in
        "\"evt_\(tag)\(now.seconds)\(match.1)\""
      }
    return Array(text.utf8)
  }
}
