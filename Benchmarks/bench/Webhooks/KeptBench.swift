import Apple
import Base
import Compression
import Crypto
import KnownStores
import RecordedStories
import Stores
import Subscriptions
import TestFiles

/// The size of a kept delivery, and the time to compress and seal it.
struct KeptBench {
  private static let sampleCount = 500

  let options: Options
  let workspace: Workspace

  func report() throws(BenchError) -> Report {
    if let directory = options.samples { try writeSamples(to: directory) }
    var report = Report(subject: .kept, facts: try Machine(workspace, options).facts)
    let now = Instant.now
    let stripe = try StripeEvents(
      directory: "ops/bench.d", secret: Secret("whsec_bench"), seed: options.seed)
    let sealing = try Self.sealing()
    for (provider, messages) in [
      ("stripe", Self.messages(stripe.requests(Self.sampleCount, now: now))),
      ("apple", Self.messages(AppleNotifications(now: now).requests(Self.sampleCount))),
      ("google", Self.messages(GoogleNotifications(now: now).requests(Self.sampleCount))),
      ("btcpay", Self.recorded("btcpay")),
    ] {
      guard let store = ObjectKey.Provider(rawValue: provider).flatMap({ StoreList.known[$0] })
      else { continue }
      let compressor = store.compressor
      func kept(_ index: Int) -> Int {
        let message = messages[index % messages.count]
        return sealing.seal(compressor.compress(message), context: []).count
      }
      let before = messages.map { $0.count + SealingKeys.overheadByteCount }.reduce(0, +)
      let after = messages.indices.map(kept).reduce(0, +)
      let share = Double(after) / Double(before)
      report.figures.append(
        Figure(
          name: "\(provider)_kept_thousandths", value: Int((share * 1000).rounded()),
          text: "\(Figure.decimal(share, places: 3)) of \(provider)'s deliveries is kept: "
            + "\(after / messages.count) of \(before / messages.count) bytes"))
      report.timings += [
        Timing("\(provider): seal alone", times: 5000) { index in
          sealing.seal(messages[index % messages.count], context: []).count
        },
        Timing("\(provider): compress, then seal", times: 5000, kept),
      ]
    }
    report.notes.append("BTCPay's are the recordings that its dictionary was trained on")
    return report
  }

  private static func sealing() throws(BenchError) -> SealingKeys {
    do throws(CryptoError) {
      return try SealingKeys([Secret([UInt8](repeating: 7, count: 32))])
    } catch { throw .usage("\(error)") }
  }

  // MARK: what is kept of a request

  private static let proofs = ["stripe-signature:", "btcpay-sig:"]

  private static func messages(_ requests: Requests) -> [[UInt8]] {
    (0..<requests.count).map { message(Array(requests.bytes[requests.range($0)])) }
  }

  private static func recorded(_ store: String) -> [[UInt8]] {
    // A story of one store may have deliveries of another store, to which its customer moves.
    RecordedStory.all(of: store).flatMap { $0.steps.compactMap(\.delivery) }
      .filter { $0.store == store }.map { message($0.bytes) }
  }

  /// The header that proves a delivery whose body does not prove itself, and the body.
  private static func message(_ request: [UInt8]) -> [UInt8] {
    let gap = Array("\r\n\r\n".utf8)
    let end = request.indices.first { request[$0...].starts(with: gap) } ?? request.count
    let lines = String(decoding: request[..<end], as: UTF8.self).split(separator: "\r\n")
    let proof = lines.first { line in proofs.contains { line.lowercased().hasPrefix($0) } }
    return Array((proof ?? "").utf8) + request[end...]
  }

  // MARK: what dictionaries are trained on

  private func writeSamples(to directory: String) throws(BenchError) {
    for store in StoreList.known {
      let name = store.provider.rawValue
      for (index, message) in Self.recorded(name).enumerated() {
        let path = "\(directory)/\(name)/\(index)"
        do throws(FileError) {
          try Files.write(Self.withoutOwnCertificates(UnfoldedText.unfold(message)), to: path)
        } catch { throw .usage("\(path) cannot be written") }
      }
    }
  }

  /// Replaces our test chain, which no other deliveries have, with Apple's root, which all deliveries share.
  private static func withoutOwnCertificates(_ text: [UInt8]) -> [UInt8] {
    let begin = Array("\"x5c\":[".utf8)
    let root = Array("\"\(Base64.standard.encode(AppleRootCA.der))\"".utf8)
    var result: [UInt8] = []
    var index = 0
    while index < text.count {
      if text[index...].starts(with: begin) {
        result += begin + root
        while index < text.count, text[index] != UInt8(ascii: "]") { index += 1 }
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }
}
