import Base
import Glibc
import LocalServer
import TestEngines
import TestFiles
import Testing

/// `provider-fakes` as app developers use it.
struct DevelopmentStoreTests {
  private let scratch: ScratchDirectory
  private let environment: [String: String]
  private let stores: Running
  private let billing: Running
  private let url: String

  /// Starts the stores and a billing server on their own ports.
  init() throws {
    scratch = try ScratchDirectory()
    let (port, storesPort) = (Ports.free(), Ports.free())
    let directory = scratch.path + "/stores"
    url = "http://127.0.0.1:\(storesPort)"
    stores = try Running(
      "provider-fakes",
      [
        "serve", directory, "--listen", "0.0.0.0:\(storesPort)", "--push",
        "http://127.0.0.1:\(port)",
      ],
      environment: [:], port: storesPort)
    var environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_PLANS": "\(Self.root)/webhooks/catalogue.json",
    ]
    for line in (Files.text(directory + "/coffer.env") ?? "").split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
      environment[parts[0]] = parts[1]
    }
    self.environment = environment
    billing = try Running("coffer-billing", environment: environment, port: port)
  }

  private static var root: String {
    let source = #filePath
    return String(source[..<source.ranges(of: "/Tests/").last!.lowerBound])
  }

  private func shell(_ script: String) throws -> Finished {
    let variables = environment.merging([
      "PATH": "\(Binaries.directory):/usr/bin:/bin", "store": url,
    ]) { $1 }
    return try Finished(
      path: "/bin/bash", ["-c", "cd \(scratch.path)\nset -euo pipefail\n" + script],
      environment: variables)
  }

  @Test func `the document's life of a subscription runs as it is written`() throws {
    let document = try #require(Files.text("\(Self.root)/docs/developing-apps.md"))
    let blocks = document.split(separator: "```", omittingEmptySubsequences: false)
    let script = blocks.indices.filter { $0 % 2 == 1 }.map { blocks[$0] }.joined()
      .split(separator: "\n").filter { !$0.hasPrefix("store=") }.joined(separator: "\n")
    let finished = try shell(script)
    #expect(finished.code == 0, "\(finished.out)\n\(finished.errors)")
    let plans = finished.out.split(separator: "\n").filter { $0.hasPrefix("plan ") }
    let expected = ["premium", "premium", "free"]
    #expect(plans.compactMap { $0.split(separator: " ").last.map(String.init) } == expected)
    #expect(finished.out.matches(of: #/"type":"DID_RENEW"/#).count == 2)
    #expect(finished.out.contains(#""type":"DID_RENEW","status":200"#))
    // Each renewal is pushed when it happens, so there is no gap between two periods.
    #expect(!finished.out.contains("lapsed\n      now"))
  }

  @Test func `what no customer could do is refused, and the stores go on`() throws {
    let account = "0198d2a4-6d1c-7b3e-9f00-000000000001"
    let finished = try shell(
      """
      ask() { curl -s -w '%{http_code}\\n' $store/control/$1 -d "$2" | sed 's/.*}//'; }
      curl -s $store/control/apple/buy -d '{"account":"\(account)"}' >bought
      id=$(sed 's/^{"id":"\\([^"]*\\)".*/\\1/' bought)
      for i in 1 2; do ask apple/cancel "{\\"id\\":\\"$id\\"}"; done
      for i in 1 2 3; do ask apple/extend "{\\"id\\":\\"$id\\"}"; done
      for i in 1 2; do ask apple/refund "{\\"id\\":\\"$id\\"}"; done
      ask apple/refund "{\\"id\\":\\"$id\\",\\"transaction\\":\\"7\\"}"
      ask apple/refund '{"id":"nobody"}'
      ask google/buy '{"account":"ada"}'
      ask google/buy '{"plan":"gold"}'
      ask stripe/juggle '{}'
      ask stripe/buy '{"trial_days":-1}'
      ask clock '{"advance_ms":-1}'
      ask clock '{"to_ms":9223372036854775807}'
      ask clock 'tomorrow'
      ask faults/stripe '{"failures":[700]}'
      ask clock '{}'
      """)
    #expect(
      finished.out.split(separator: "\n") == [
        "200", "409", "200", "200", "409", "200", "409", "409", "400", "400", "400", "400", "400",
        "400", "400", "400",
        "400", "200",
      ], "\(finished.out)\n\(stores.log)")
  }

  @Test(arguments: ["apple", "google"])
  func `days that were given without an answer are given once, and more where that is ordered`(
    kind: String
  ) throws {
    let finished = try shell(
      """
      coffer account create --username ada --key-file ada.key >/dev/null
      ada=$(coffer account show ada --json | sed -n 's/.*"account":"\\([^"]*\\)".*/\\1/p')
      curl -s $store/control/\(kind)/buy -d "{\\"account\\":\\"$ada\\"}" >bought
      id=$(sed 's/^{"id":"\\([^"]*\\)".*/\\1/' bought)
      known() { coffer find "$id" | grep -q active; }
      give() { coffer subscription extend "$id" --days 7 --reason "ticket 9" "$@" 2>&1; }
      end() { give | sed -n 's/^ends  *\\([^ ]*\\) .*/\\1/p'; }
      until known; do sleep 0.1; done
      curl -s $store/control/clock -d '{"advance_ms": 60000}' >/dev/null
      echo "end $(end)"
      curl -s $store/control/faults/\(kind) -d '{"lose_answer": true}' >/dev/null
      give --yes || echo "code $?"
      for i in $(seq 100); do
        coffer audit list | grep -q 'extend: done' && break
        curl -s $store/control/clock -d '{"advance_ms": 60000}' >/dev/null
        sleep 0.1
      done
      echo "end $(end)"
      give --yes || echo "code $?"
      for i in $(seq 100); do
        end | grep -q . && break
        curl -s $store/control/clock -d '{"advance_ms": 15000}' >/dev/null
        sleep 0.1
      done
      echo "end $(end)"
      """)
    let codes = finished.out.matches(of: #/code (\d+)/#).map { $0.output.1 }
    #expect(codes == ["69"], "\(finished.out)\n\(finished.errors)")
    let ends = finished.out.matches(of: #/end (\S+)/#).compactMap {
      Instant(rfc3339: String($0.output.1))
    }
    guard ends.count == 3 else {
      Issue.record("\(finished.out)\n\(finished.errors)")
      return
    }
    #expect(ends[1] == ends[0] + .days(7) && ends[2] == ends[1] + .days(7), "\(ends)")
  }

  @Test func `the order number of a receipt of Apple's finds its purchase`() throws {
    let finished = try shell(
      """
      coffer account create --username ada --key-file ada.key >/dev/null
      ada=$(coffer account show ada --json | sed -n 's/.*"account":"\\([^"]*\\)".*/\\1/p')
      curl -s $store/control/apple/buy -d "{\\"account\\":\\"$ada\\"}" >bought
      id=$(sed 's/^{"id":"\\([^"]*\\)".*/\\1/' bought)
      order=$(curl -s $store/control/apple/receipt -d "{\\"id\\":\\"$id\\"}" | sed 's/.*"order":"\\([^"]*\\)".*/\\1/')
      until coffer find "$id" | grep -q active; do sleep 0.1; done
      coffer subscription show $order | grep "^subscription  apple:live:subscription:$id$"
      coffer find $order | grep "apple:live:subscription:$id .*active"
      coffer subscription show MK5TTTVWJH 2>&1 || echo "code $?"
      coffer find MK5TTTVWJH 2>&1 || echo "code $?"
      curl -s $store/control/faults/apple -d '{"failures": [503, 503, 503, 503, 503, 503]}' >/dev/null
      coffer subscription show $order 2>&1 || echo "code $?"
      """)
    let codes = finished.out.matches(of: #/code (\d+)/#).map { $0.output.1 }
    #expect(codes == ["1", "1", "69"], "\(finished.out)\n\(finished.errors)")
    let sentence = "coffer: the App Store knows no order MK5TTTVWJH of this app\n"
    #expect(finished.out.ranges(of: sentence).count == 2, "\(finished.out)")
  }

  /// The App Store does not accept orders of refunds; Stripe does.
  @Test(arguments: [("apple", "stripe"), ("stripe", "apple")])
  func `who pays twice is told of with both prices, and with the one to refund`(
    first: String, second: String
  ) throws {
    let finished = try shell(
      """
      coffer account create --username ada --key-file ada.key >/dev/null
      ada=$(coffer account show ada --json | sed -n 's/.*"account":"\\([^"]*\\)".*/\\1/p')
      for kind in \(first) \(second); do
        curl -s $store/control/$kind/buy -d "{\\"account\\":\\"$ada\\"}" >bought
        id=$(sed 's/^{"id":"\\([^"]*\\)".*/\\1/' bought)
        echo "$kind is $id"
        until coffer find "$id" | grep -q active; do sleep 0.1; done
        curl -s $store/control/clock -d '{"advance_ms": 60000}' >/dev/null
      done
      coffer entitlement explain ada >explained
      head -1 explained | fold -w 1000
      coffer attention >attention || test $? = 2
      echo "attention" $(cat attention)
      echo "explained" $(cat explained)
      echo "found" $(coffer find ada)
      """)
    let ids = finished.out.matches(of: #/(apple|stripe) is (\S+)/#).map { "\($0.output.2)" }
    try #require(ids.count == 2, "\(finished.out)\(finished.errors)")
    let prices = finished.out.matches(of: #/(\d+\.\d\d [A-Z]{3}) at (the App Store|Stripe)/#)
      .map { "\($0.output.0)" }
    #expect(Set(prices).count == 2, "\(finished.out)")
    let stores = first == "apple" ? ["the App Store", "Stripe"] : ["Stripe", "the App Store"]
    let advice =
      first == "apple" ? "refund this one" : "its customer asks the App Store for a refund"
    for command in ["attention", "explained", "found"] {
      let line = try #require(
        finished.out.split(separator: "\n").first { $0.hasPrefix("\(command) ") })
      let sentence = try Regex(
        "at \(stores[0]) for premium \\(\\S*\(ids[0])\\) counts; \\S+ \\S+ at \(stores[1]) for premium "
          + "\\(\\S*\(ids[1])\\) adds nothing: \(advice)")
      #expect(line.firstMatch(of: sentence) != nil, "\(line)")
    }
    let command = "coffer subscription refund stripe:live:subscription:\(ids[1]) --payment in_"
    #expect(finished.out.contains(command) == (first == "apple"), "\(finished.out)")
    #expect(finished.out.contains("it is paid for twice"), "\(finished.out)")
  }

  /// No webhook and no list reports a refund that leaves the purchase, and no read looks so far back.
  @Test func `a refund of the first of many orders at Google Play is known afterwards`() throws {
    let finished = try shell(
      """
      coffer account create --username ada --key-file ada.key >/dev/null
      ada=$(coffer account show ada --json | sed -n 's/.*"account":"\\([^"]*\\)".*/\\1/p')
      curl -s $store/control/google/buy -d "{\\"account\\":\\"$ada\\"}" >bought
      id=$(sed 's/^{"id":"\\([^"]*\\)".*/\\1/' bought)
      orders() { coffer entitlement explain ada --wide | grep -o 'GPA[-.0-9]*' | sort -u; }
      for month in 1 2 3 4 5; do
        for i in $(seq 200); do test $(orders | wc -l) -ge $month && break; sleep 0.1; done
        test $month = 5 || curl -s $store/control/clock -d '{"advance_ms": 2678400000}' >/dev/null
      done
      first=$(orders | grep -v '[.][.]')
      refund() { coffer subscription refund "$id" --payment $first --reason 'ticket 9' "$@" 2>&1; }
      refund --yes
      for i in $(seq 100); do
        refund | grep -q 'went back already' && break
        curl -s $store/control/clock -d '{"advance_ms": 5000}' >/dev/null
        sleep 0.1
      done
      refund || echo "code $?"
      # Google Play may tell of a refund before its other answers have it.
      for i in $(seq 100); do
        coffer entitlement explain ada --wide | grep -q 'refund  2.99 USD  refunded' && break
        curl -s $store/control/clock -d '{"advance_ms": 60000}' >/dev/null
        sleep 0.1
      done
      coffer entitlement explain ada --wide
      """)
    #expect(
      finished.out.contains("went back already\ncode 1\n"), "\(finished.out)\n\(finished.errors)")
    // By the table, because the sentences tell of the renewal if one read found both.
    #expect(finished.out.contains("refund  2.99 USD  refunded"), "\(finished.out)")
  }

  @Test func `two phones buy at once, each for its own account`() throws {
    let finished = try shell(
      """
      for who in ada bob; do
        coffer account create --username $who --key-file $who.key >/dev/null
        id=$(coffer account show $who --json | sed -n 's/.*"account":"\\([^"]*\\)".*/\\1/p')
        for kind in apple stripe; do
          curl -s $store/control/$kind/buy -d "{\\"account\\":\\"$id\\"}" >$who.$kind &
        done
      done
      wait
      coffer account list
      """)
    #expect(finished.out.matches(of: /premium/).count == 2, "\(finished.out)\n\(finished.errors)")
  }

  @Test func `stores that others reach say that they are none`() {
    #expect(stores.log.contains("no real stores"))
  }
}
