import Testing
import XML

@Suite struct XMLElementTests {
  private static func parse(_ text: String) -> XMLElement? { XMLElement(Array(text.utf8)) }

  @Test func `elements are found by their names, with their characters`() throws {
    let root = try #require(
      Self.parse(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <s:List xmlns:s="x"><Key a="b">a&amp;&#98;</Key><Key><![CDATA[<c>]]></Key><Empty/></s:List>
        """))
    #expect(root.name == "List")
    #expect(root.all("Key").map(\.text) == ["a&b", "<c>"])
    #expect(root["Empty"]?.text == "")
    #expect(root["None"] == nil)
  }

  @Test(arguments: [
    "", "a", "<a>", "<a></b>", "<a/><b/>", "<a>&unknown;</a>",
    "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
    String(repeating: "<a>", count: 20) + String(repeating: "</a>", count: 20),
  ])
  func `what is not one small document is refused`(text: String) {
    #expect(Self.parse(text) == nil)
  }
}
