import Acts
import Backup
import Base
import CommandLine
import Configuration
import Doctor
import JSON

extension Command {
  private static let all = Parameter<Bool>.flag(
    "--all", text: "recount and derive every account, not a sample")
  private static let walk = Parameter<Bool>.flag(
    "--objects", text: "check every object, and find unreferenced ones, not a sample")
  private static let deep = Parameter<Bool>.flag(
    "--deep", text: "run SQLite's full integrity check, and check the rows of accounts")
  private static let online = Parameter<Bool>.flag(
    "--online", text: "send a test request to each store")
  private static let fix = Parameter<Bool>.flag(
    "--fix",
    text: "repair what is safe: permissions, usage, schedules, leftovers, unreferenced objects")

  private static let shrink = Parameter<Bool>.flag(
    "--shrink", text: "with --fix, also repair schedules where a quota shrinks")

  static let doctor = Command(
    words: ["doctor"],
    abstract: "Check an installation while its servers run",
    discussion: """
      Each check prints one line: what it found and what to do. If a check fails, the exit code is 1; a \
      warning does not change it. Without options the command checks a sample and takes a few seconds. Run \
      it as the servers' user, with their settings.

      --fix repairs what is safe and records it in the audit log. It deletes unreferenced objects only if \
      they are older than a day, no backup is running, and coffer-sync has used the object store with this \
      database for a day. It leaves schedules that would shrink an account's quota, and names the account; \
      --shrink repairs those too.
      """,
    examples: [
      "coffer doctor",
      "coffer doctor --all --fix",
    ],
    options: [all, walk, deep, online, fix, shrink] + Act.handyOptions,
    answers: Check.shape.adding([.init("audit", .text, isOptional: true)]),
    run: { invocation in
      guard invocation[fix] || !invocation[shrink] else {
        throw CommandFailure(.usage, "--shrink is for --fix")
      }
      var extent = Doctor.Extent()
      extent.takesAll = invocation[all]
      extent.walksObjects = invocation[walk]
      extent.isDeep = invocation[deep]
      extent.shrinksCaps = invocation[shrink]
      let examination = try Examination(
        invocation.settings, extent, asksStores: invocation[online],
        fixing: invocation[fix] ? { try Act(invocation, on: $0) } : nil)
      return answer(examination.checks, examination.noted)
    })

  static func answer(_ checks: [Check], _ more: [JSONValue.Member] = []) -> Answer {
    let remedies = checks.filter { !$0.remedy.isEmpty }.map {
      Printable.text("\($0.name): \($0.remedy)") + "\n"
    }
    let failed = checks.count { $0.state == .failed }
    let missing = checks.flatMap(\.missing).map { object -> JSONValue in
      ["kind": .string(object.kind), "id": .string(object.id.description)]
    }
    var members: [JSONValue.Member] = [
      .init("failed", .integer(Int64(failed))), Check.listing.member(checks),
    ]
    if !missing.isEmpty { members.append(.init("missing", .array(missing))) }
    var answer = Answer(
      text: Check.listing.text(checks, at: .distantPast)
        + (remedies.isEmpty ? "" : "\nto do:\n" + remedies.joined()),
      json: .object(members + more))
    if failed > 0 {
      answer.code = .refused
      answer.notice = failed == 1 ? "1 check failed" : "\(failed) checks failed"
    }
    return answer
  }
}

extension Check {
  static var listing: Listing<Check> {
    Listing(
      "checks",
      [
        .text("name", "CHECK") { $0.name }, .text("state", "STATE") { $0.state.rawValue },
        .text("text", "FOUND") { $0.text }, .text("remedy") { $0.remedy },
      ], tint: { $0.state == .failed ? .bad : nil })
  }

  static var shape: JSONShape {
    .object([
      .init("failed", .integer), listing.memberShape,
      .init("missing", .list(["kind": .text, "id": .text]), isOptional: true),
    ])
  }
}
