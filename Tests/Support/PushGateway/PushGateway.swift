package import Base
import Crypto
import JSON

/// A push gateway that checks each wake-up as a stranger to Coffer would, by Standard Webhooks 1.0.0.
package final class PushGateway: Sendable {
  /// A wake-up that was signed and held nothing but a push id.
  package struct WakeUp: Equatable, Sendable {
    package let id: String
    package let pushID: String
    package let status: Int
  }

  private struct State {
    var wakeUps: [WakeUp] = []
    var refusals: [String] = []
    var answers: [String: [Int]] = [:]
  }

  package let secret = Secret(Random.bytes(32))
  private let now: @Sendable () -> Instant
  private let state = Locked(State())

  package init(now: @escaping @Sendable () -> Instant) { self.now = now }

  /// The secret as a setting.
  package var secretText: String { "whsec_" + Base64.standard.encode(secret.exposed) }

  package var wakeUps: [WakeUp] { state.withLock { $0.wakeUps } }
  /// Why requests were not taken for wake-ups.
  package var refusals: [String] { state.withLock { $0.refusals } }

  /// The next answers to wake-ups of a push id; then it is 204 again.
  package func answer(_ pushID: String, with statuses: [Int]) {
    state.withLock { $0.answers[pushID] = statuses }
  }

  /// The status of the answer to a request.
  package func receive(_ header: (String) -> String?, _ body: [UInt8]) -> Int {
    do {
      let (id, pushID) = try read(header, body)
      return state.signal { state in
        var status = 204
        if var left = state.answers[pushID], !left.isEmpty {
          status = left.removeFirst()
          state.answers[pushID] = left
        }
        state.wakeUps.append(WakeUp(id: id, pushID: pushID, status: status))
        return status
      }
    } catch {
      state.signal { $0.refusals.append("\(error)") }
      return 400
    }
  }

  /// Waits for a number of wake-ups in all, at most ten seconds. Returns those that are there.
  package func waits(for count: Int) -> [WakeUp] {
    state.wait(until: .now() + .seconds(10)) { state in
      state.wakeUps.count >= count ? state.wakeUps : nil
    } ?? wakeUps
  }

  private struct Refusal: Error { let reason: String }

  private func read(
    _ header: (String) -> String?, _ body: [UInt8]
  ) throws -> (id: String, pushID: String) {
    guard let id = header("webhook-id"), let text = header("webhook-timestamp"),
      let seconds = Int64(text), let signatures = header("webhook-signature")
    else { throw Refusal(reason: "a header is missing") }
    guard abs(seconds - now().seconds) < 300 else { throw Refusal(reason: "the time is wrong") }
    let code = HMACSHA256.code(key: secret, Array("\(id).\(text).".utf8) + body)
    guard signatures.split(separator: " ").contains("v1,\(Base64.standard.encode(code))") else {
      throw Refusal(reason: "no signature is right")
    }
    let members = try JSON.parse(body).members ?? []
    guard members.map(\.name) == ["id"], let pushID = members[0].value.string else {
      throw Refusal(reason: "there is more than a push id")
    }
    return (id, pushID)
  }
}
