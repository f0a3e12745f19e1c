extension Report {
  /// The report for documents: the tables of the text, and a line that says where they were measured.
  var markdown: String {
    var lines = ["`ops/bench \(subject.rawValue)` on \(machine)", ""]
    if !rows.isEmpty { lines += Self.markdown(serverCells.map(Self.few)) + [""] }
    if !timings.isEmpty { lines += Self.markdown([Timing.columns] + timings.map(\.cells)) + [""] }
    if !costs.isEmpty { lines += Self.markdown(Breakdown.cells(costs)) + [""] }
    for table in QuestionAnswer.tables(answers) { lines += Self.markdown(table) + [""] }
    if !figures.isEmpty {
      lines +=
        Self.markdown(
          [["measured", "aim"]]
            + figures.map { [$0.text, $0.isReached.map { $0 ? "reached" : "missed" } ?? ""] })
        + [""]
    }
    lines += failures.map { "Failed: \($0)." }
    lines += notes.map { "Note: \($0)." }
    return lines.joined(separator: "\n")
  }

  /// The cells of a server that a reader compares.
  private static func few(_ cells: [String]) -> [String] {
    [0, 2, 3, 4, 6, 9].map { cells[$0] }
  }

  private var machine: String {
    let told = [
      "machine", "kernel", "load before", "load", "time", "compared with", "subscriptions",
      "deliveries", "checked", "refused and sent again", "accounts", "streams", "size after",
      "seed",
    ]
    return facts.filter { told.contains($0.name) }.map { fact in
      fact.name == "machine" ? fact.value : "\(fact.name) \(fact.value)"
    }.joined(separator: "; ") + ":"
  }

  private static func markdown(_ cells: [[String]]) -> [String] {
    let rows = cells.map { row in
      "| " + row.map { String($0.map { $0 == "|" ? "/" : $0 }) }.joined(separator: " | ") + " |"
    }
    return [rows[0], "|---|" + cells[0].dropFirst().map { _ in "---:|" }.joined()]
      + rows.dropFirst()
  }
}
