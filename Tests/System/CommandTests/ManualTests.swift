import Testing

struct ManualTests {
  @Test func `the manual page tells every command, setting and exit code`() throws {
    let page = try Finished(["man"]).out
    for command in try HelpTests.listed() {
      #expect(page.contains("\n.SS coffer \(command.replacing("-", with: "\\-"))"))
    }
    #expect(page.contains("\n.B COFFER_DATABASE\n"))
    #expect(page.contains("\n.SH EXIT STATUS\n.TP\n"))
    #expect(page.contains("\n.B 78\n"))
  }

  @Test(arguments: ["coffer-sync", "coffer-billing"])
  func `the servers have pages of their own`(program: String) throws {
    let page = try Finished(["man", program]).out
    #expect(page.hasPrefix(".TH \(program.uppercased()) 8 "))
    #expect(page.contains("\n.B COFFER_METRICS_LISTEN\n"))
  }

  @Test(arguments: ["coffer", "coffer-sync", "coffer-billing"])
  func `every program says which it is`(program: String) throws {
    let said = try Finished(program, ["--version"])
    #expect(said.code == 0)
    #expect(said.out.wholeMatch(of: /[a-z-]+ \d+\.\d+\.\d+\n/) != nil)
  }
}
