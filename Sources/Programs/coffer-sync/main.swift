import Configuration
import Endpoints
import KnownProtocols
import KnownStores
import Sync

Daemon.takeSignals()
let configuration = Launch.configuration(of: .sync, .coffer, SyncConfiguration.init)
do {
  try SyncProgram.run(configuration, serving: KnownProtocols.all)
} catch {
  Launch.end(.sync, error, metrics: configuration.metrics)
}
