import JSON
import TestEngines
import TestFiles
import Testing

/// Expects of requests and their answers that the description of the billing API allows them (`openapi_judge.py`).
func expectDescribed(_ exchanges: [JSONValue]) throws {
  let directory = try ScratchDirectory()
  let list = try directory.write(
    String(decoding: JSONValue.array(exchanges).encoded(), as: UTF8.self), to: "exchanges.json")
  let document = "\(Files.repository)/Sources/OpenAPI/billing.json"
  let judge = "\(Files.repository)/ops/interop/openapi_judge.py"
  let python = try #require(Shell.python)
  let judged = Shell.run("'\(python)' '\(judge)' '\(document)' '\(list)' 2>&1")
  #expect(judged.output.split(separator: "\n") == [])
  #expect(judged.status == 0)
}
