/// The rate that the disk alone allows: the bytes that a delivery adds to the log are appended and made
/// durable, in groups of the size of the server's commits.
struct DiskLimit {
  static let program = ".build/bench-durable"
  private static let seconds = 2

  private let perSecond: Double
  private let cost: Breakdown

  init(_ cost: Breakdown, _ workspace: Workspace) throws(BenchError) {
    let text = try workspace.output(
      Self.program, workspace.file("durable"), "\(cost.logByteCount)", "\(cost.batchCount)",
      "\(Self.seconds)")
    guard let rate = Double(text.filter { !$0.isWhitespace }) else {
      throw .command("\(Self.program) printed no rate: \(text)")
    }
    perSecond = rate
    self.cost = cost
  }

  func figures(_ name: String, _ ours: Load.Outcome) -> [Figure] {
    [
      Figure(
        name: "\(name)_disk_per_second", value: Int(perSecond),
        text: "\(Int(perSecond)) deliveries a second the disk alone would allow, "
          + "\(cost.logByteCount) bytes of log each and \(cost.batchCount) in a commit"),
      .share(
        "\(name)_share_of_disk", ours.perSecond / max(1, perSecond),
        "of that is ours, \(cost.store)"),
    ]
  }
}
