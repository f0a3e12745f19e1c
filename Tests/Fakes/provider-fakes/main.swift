import Glibc

/// What `record` can write: each provider's stories, in its folder of webhooks/.
let recordings: [String: (String) throws(RecordingError) -> Recording] = [
  "apple": AppleRecording.make(in:), "google": GoogleRecording.make(in:),
]

let usage = """
  usage: provider-fakes record <provider> [--check]
         provider-fakes serve <directory> [--port N] [--push URL] [--start MILLISECONDS]

  Writes the stories of webhooks/<provider> in the working directory; with --check it writes
  nothing and exits with 1 where a file differs. Providers: \(recordings.keys.sorted().joined(separator: ", "))

  Serves the fakes of all three stores on 127.0.0.1, in virtual time, and prints the port. The directory
  gets their keys, a coffer.env for coffer-billing, and the clock. Control:
    POST /control/clock                    {"advance_ms": N} or {"to_ms": N}
    POST /control/<provider>/<operation>   {"id": ..., "account": ..., "plan": "premium.monthly", ...}
    POST /control/faults/<provider>        {"replica_lag_ms": N, "failures": [429, 0, 500]}
    POST /control/push                     sends what is due to the URL, as every request above does
    GET  /control/truth                    who has paid for what until when

  """

func complain(_ text: String, code: Int32) -> Never {
  let bytes = Array(text.utf8)
  _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
  exit(code)
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "serve", let options = Serving.Options(Array(arguments.dropFirst())) {
  do { try Serving.run(options) } catch { complain("provider-fakes: \(error)\n", code: 1) }
  exit(0)
}
guard (2...3).contains(arguments.count), arguments[0] == "record",
  let make = recordings[arguments[1]], arguments.count == 2 || arguments[2] == "--check"
else { complain(usage, code: 64) }

do throws(RecordingError) {
  let recording = try make("webhooks/\(arguments[1])")
  if arguments.count == 2 {
    print(try recording.write())
  } else {
    let paths = recording.differences()
    for path in paths { print("\(recording.folder)/\(path) is not what provider-fakes writes") }
    exit(paths.isEmpty ? 0 : 1)
  }
} catch {
  complain("provider-fakes: \(error.text)\n", code: 1)
}
