internal import Billing
internal import Configuration
internal import Endpoints
internal import KnownStores

Daemon.takeSignals()
let configuration = Launch.configuration(of: .billing, .coffer, BillingConfiguration.init)
do {
  try BillingProgram.run(configuration)
} catch {
  Launch.end(.billing, error)
}
