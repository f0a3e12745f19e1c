internal import Configuration
internal import Endpoints
internal import KnownStores
internal import Sync

Daemon.takeSignals()
let configuration = Launch.configuration(of: .sync, .coffer, SyncConfiguration.init)
do {
  try SyncProgram.run(configuration)
} catch {
  Launch.end(.sync, error)
}
