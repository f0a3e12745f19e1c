import Base
import BillingSimulation
import ChainSimulation
import ContentSimulation
import Crypto
import DocumentSimulation
import Glibc
import LogSimulation
import MailboxSimulation
import SeededOpenSSL
import Simulation
import TreeSimulation

/// Runs one seed of one simulation in its own process, so that an earlier run's caches and keys cannot affect
/// it. `ops/simulate` runs many.

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let what = arguments.first,
  [
    "billing", "buying", "chains", "content", "documents", "logs", "mailboxes", "sync",
  ].contains(what),
  let seed = arguments.last.flatMap({ UInt64($0) })
else {
  print("usage: simulate billing|buying|chains|content|documents|logs|mailboxes|sync SEED")
  exit(64)
}
guard seed_openssl(seed) == 1 else {
  print("OpenSSL keeps its own generator")
  exit(70)
}

let log = SimulationLog()
do {
  switch what {
  case "billing": try Storm.run(seed: seed, log)
  case "buying": try BuyingStorm.run(seed: seed, log)
  case "chains": try ChainRun.run(seed: seed, log)
  case "content": try ContentRun.run(seed: seed, log)
  case "documents": try DocumentRun.run(seed: seed, log)
  case "logs": try LogRun.run(seed: seed, log)
  case "mailboxes": try MailboxRun.run(seed: seed, log)
  default: try Story.run(seed: seed, log)
  }
} catch {
  print(log.text, terminator: "")
  print("failed: \(error)")
  exit(1)
}
print(log.text, terminator: "")
print("sha256 of the log: \(Hex.encode(SHA256.hash(Array(log.text.utf8))))")
