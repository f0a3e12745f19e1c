import Configuration
import KnownStores
import Testing

struct LaunchTests {
  @Test func `the configuration's path is the one option`() {
    #expect(Launch.request([]) == .run(configPath: nil))
    #expect(Launch.request(["--config", "/etc/coffer.env"]) == .run(configPath: "/etc/coffer.env"))
  }

  @Test func `help wins over everything before a mistake`() {
    #expect(Launch.request(["--config", "/x", "--help"]) == .help)
  }

  @Test func `an unknown argument is named`() {
    #expect(Launch.request(["--port"]) == .refused("there is no argument --port; see --help"))
    #expect(Launch.request(["--config"]) == .refused("--config needs a path"))
  }

  @Test(arguments: Program.allCases)
  func `help lists every setting the program reads and no other`(program: Program) {
    let text = SettingsHelp.text(.coffer, for: program)
    for setting in SettingsTable.coffer.rows {
      #expect(
        text.contains("  \(setting.name)  [") == setting.programs.contains(program))
    }
  }

  @Test func `no line of help is wider than a terminal`() {
    for program in Program.allCases {
      for line in Launch.help(program, .coffer).split(separator: "\n") {
        #expect(line.count <= 100)
      }
    }
  }
}
