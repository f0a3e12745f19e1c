import Base
import Testing

struct ByteCountTests {
  @Test(arguments: [
    ("0", 0), ("500000000", 500_000_000), ("500MB", 500_000_000), ("2tb", 2_000_000_000_000),
    ("7kB", 7000), ("3B", 3),
  ])
  func `bytes are read with or without a unit`(text: String, count: Int64) {
    #expect(ByteCount.read(text) == count)
  }

  @Test(arguments: ["", "MB", "-1", "1.5GB", "5 GB", "5PB", "9999999999TB"])
  func `anything else is no size`(text: String) { #expect(ByteCount.read(text) == nil) }

  @Test(arguments: [
    (999, "999 B"), (1000, "1 kB"), (1_550_000, "1.5 MB"), (30_000_000_000, "30 GB"),
  ])
  func `people see one digit after the point`(count: Int64, text: String) {
    #expect(ByteCount.text(count) == text)
  }
}
