import Glibc

let names = Recording.stores.keys.sorted()

let usage = """
  usage: provider-fakes record [<store>] [--check]
         provider-fakes serve <directory> [--listen ADDRESS:PORT] [--push URL]
                        [--start MILLISECONDS] [--running]

  Writes the stories of webhooks/<store> in the working directory, or of every store; with --check it
  writes nothing and exits with 1 where a file differs. Stores: \(names.joined(separator: ", "))

  Serves the fakes of all stores, on a free port of 127.0.0.1 unless told otherwise, and prints the
  port. Time is virtual and stands still unless moved; with --running it goes on. The directory gets
  their keys, a coffer.env for coffer-billing, and the clock. Control, as docs/developing-apps.md
  shows:
    GET  /control/clock                    what time it is
    POST /control/clock                    {"advance_ms": N} or {"to_ms": N}
    POST /control/<provider>/<operation>   {"id": ..., "account": ..., "plan": "premium.monthly", ...}
    POST /control/faults/<provider>        {"replica_lag_ms": N, "failures": [429, 0, 500],
                                            "lose_answer": true}
    POST /control/push                     sends what is due to the URL, as every request above does
    GET  /control/truth                    who has paid for what until when

  """

func warn(_ text: String) {
  let bytes = Array(text.utf8)
  _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
}

func complain(_ text: String, code: Int32) -> Never {
  warn(text)
  exit(code)
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "serve", let options = Serving.Options(Array(arguments.dropFirst())) {
  do { try Serving.run(options) } catch { complain("provider-fakes: \(error)\n", code: 1) }
  exit(0)
}
let isCheck = arguments.last == "--check"
let chosen = arguments.dropFirst().dropLast(isCheck ? 1 : 0)
guard arguments.first == "record", chosen.count <= 1, chosen.allSatisfy(names.contains) else {
  complain(usage, code: 64)
}

do throws(RecordingError) {
  var differences: [String] = []
  for name in chosen.isEmpty ? names : Array(chosen) {
    guard let make = Recording.stores[name] else { continue }
    let recording = try make("webhooks/\(name)")
    if isCheck {
      differences += recording.differences().map { "\(recording.folder)/\($0)" }
    } else {
      print(try recording.write())
    }
  }
  for path in differences { print("\(path) is not what provider-fakes writes") }
  exit(differences.isEmpty ? 0 : 1)
} catch {
  complain("provider-fakes: \(error.text)\n", code: 1)
}
