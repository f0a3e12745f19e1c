import CommandLine
import Configuration
import JSON
import ProviderAPI
import Stripe

extension Command {
  /// Shows which event types `coffer-billing` needs, and which of them Stripe's endpoints do not send.
  static func checkStripe(_ invocation: Invocation) throws -> Answer {
    let configured = try SettingsReader.read(invocation.settings) {
      StripeConfiguration(reading: &$0)
    }
    guard let stripe = configured else {
      throw CommandFailure(.refused, "Stripe is off: no signing secret is configured")
    }
    let needed = "needed event types:\n" + StripeEvent.neededTypes.map { "  \($0)\n" }.joined()
    guard let key = stripe.apiKey else {
      return unchecked(needed, "no API key is configured", code: .refused)
    }
    let api = StripeAPI(
      base: stripe.apiURL, key: key, environment: stripe.environment, transport: CurlTransport())
    let endpoints: [StripeEndpoint]
    do throws(APIFailure) { endpoints = try api.endpoints() } catch {
      let mayPass = if case .transient = error { true } else { false }
      return unchecked(
        needed,
        mayPass
          ? "Stripe does not answer: \(error)"
          : "the key cannot list webhook endpoints (\(error)): give it read access to them",
        code: mayPass ? .unavailable : .refused)
    }
    return answer(needed, endpoints.filter { $0.isOurs })
  }

  private static func unchecked(_ needed: String, _ why: String, code: ExitCode) -> Answer {
    Answer(
      code: code, text: needed + "\nnot compared: \(why)\n",
      json: ["needed": neededTypes, "not_compared": .string(why)])
  }

  private static func answer(_ needed: String, _ endpoints: [StripeEndpoint]) -> Answer {
    var text = needed + "\n"
    if endpoints.isEmpty {
      text += "no enabled endpoint of this account ends in \(StripeEndpoint.path)\n"
    }
    for endpoint in endpoints {
      let missing = endpoint.missing
      text +=
        missing.isEmpty
        ? "\(endpoint.url) sends all of them\n"
        : "\(endpoint.url) does not send: \(missing.joined(separator: ", "))\n"
    }
    let isComplete = !endpoints.isEmpty && endpoints.allSatisfy { $0.missing.isEmpty }
    return Answer(
      code: isComplete ? .ok : .refused, text: text,
      json: [
        "needed": neededTypes,
        "endpoints": .array(
          endpoints.map { endpoint in
            [
              "url": .string(endpoint.url),
              "missing": .array(endpoint.missing.map { .string($0) }),
            ]
          }),
      ])
  }

  private static var neededTypes: JSONValue {
    .array(StripeEvent.neededTypes.map { .string($0) })
  }
}
