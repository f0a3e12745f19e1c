import Glibc

/// The command line of `bench`: what it measures, and how it ends.
enum Bench {
  /// Runs the command line, and returns the exit code.
  static func run(_ arguments: [String]) -> Int32 {
    if arguments.contains("--help") {
      print(Options.usage)
      return 0
    }
    do throws(BenchError) {
      let report = try measure(Options(arguments))
      return report.isGood ? 0 : 1
    } catch {
      let line = Array("bench: \(error)\n".utf8)
      _ = unsafe write(STDERR_FILENO, line, line.count)
      if case .usage = error { return 64 }
      return 70
    }
  }

  private static func measure(_ options: Options) throws(BenchError) -> Report {
    let workspace = try Workspace(under: options.directory)
    if let path = options.document { try Document(path).require(options.subject) }
    let report =
      switch options.subject {
      case .webhooks: try WebhookBench(options: options, workspace: workspace).report()
      case .backlog: try BacklogBench(options, workspace).report()
      case .reconcile: try ReconcileBench(options, workspace).report()
      case .kept: try KeptBench(options: options, workspace: workspace).report()
      case .sync: try SyncBench(options, workspace).report()
      case .streams: try StreamBench(options, workspace).report()
      case .content: try ContentBench(options, workspace).report()
      case .fold: try FoldBench(options: options, workspace: workspace).report()
      case .tree: try TreeBench(options: options, workspace: workspace).report()
      case .logs: try LogBench(options, workspace).report()
      case .documents: try DocumentBench(options, workspace).report()
      case .worst: try WorstBench(options: options, workspace: workspace).report()
      case .questions: try QuestionsBench(options, workspace).report()
      }
    switch options.form {
    case .text: print(report.text)
    case .json: print(report.json)
    case .markdown: print(report.markdown)
    }
    if let path = options.document {
      try Document(path).write(report.markdown, about: options.subject)
    }
    return report
  }
}
