import Billing
import Configuration
import Endpoints
import KnownStores

Daemon.takeSignals()
let configuration = Launch.configuration(of: .billing, .coffer, BillingConfiguration.init)
do {
  try BillingProgram.run(configuration)
} catch {
  Launch.end(.billing, error, metrics: configuration.metrics)
}
