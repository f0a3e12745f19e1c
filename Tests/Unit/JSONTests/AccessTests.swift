import JSON
import Testing

@Suite struct AccessTests {
  private let json: JSON

  init() throws {
    let text = #"""
      {"id": "evt_1", "live": false, "n": 7, "none": null, "z": 1, "a": 2,
       "data": {"object": {"items": [{"id": "si_1"}, {"id": 5}]}}, "é": "ü\ud83d\ude00"}
      """#
    json = try JSON.parse(Array(text.utf8))
  }

  @Test func `values of each kind are read`() {
    #expect(json["id"].string == "evt_1")
    #expect(json["live"].bool == false)
    #expect(json["n"].integer == 7)
    #expect(json["none"].isNull)
    #expect(json["data"].isObject)
    #expect(json["data"]["object"]["items"].array?.count == 2)
    #expect(json["é"].string == "ü😀")
  }

  @Test func `the accessor of another kind gives nothing`() {
    #expect(json["id"].integer == nil)
    #expect(json["n"].string == nil)
    #expect(json["none"].bool == nil)
    #expect(json["data"].array == nil)
    #expect(json["id"].members == nil)
  }

  @Test func `a chain through missing values stays missing`() {
    let missing = json["data"]["other"]["x"][3]["y"]
    #expect(!missing.exists)
    #expect(missing.path == "$.data.other.x[3].y")
  }

  @Test func `an index outside an array is missing`() {
    let items = json["data"]["object"]["items"]
    #expect(!items[2].exists)
    #expect(!items[-1].exists)
  }

  @Test func `members come in the order of the text`() {
    #expect(
      json.members?.map(\.name) == ["id", "live", "n", "none", "z", "a", "data", "é"])
    #expect(json.members?[4].value.path == "$.z")
  }

  @Test func `an array's elements know their paths`() {
    let last = json["data"]["object"]["items"].array?.last
    #expect(last?["id"].path == "$.data.object.items[1].id")
  }

  @Test func `requiring what is missing names the path`() {
    #expect {
      try json["data"]["object"]["customer"].requireString()
    } throws: { error in
      let error = error as? JSONError
      return error?.code == .missing && error?.path == "$.data.object.customer"
    }
  }

  @Test func `requiring another kind names the path`() {
    #expect {
      try json["data"]["object"]["items"][1]["id"].requireString()
    } throws: { error in
      let error = error as? JSONError
      return error?.code == .wrongType && error?.path == "$.data.object.items[1].id"
    }
  }

  @Test func `every required form gives its value`() throws {
    #expect(try json["id"].requireString() == "evt_1")
    #expect(try json["n"].requireInteger() == 7)
    #expect(try json["live"].requireBool() == false)
    #expect(try json["data"]["object"]["items"].requireArray().count == 2)
    #expect(try json["data"].requireObject()["object"].exists)
  }

  @Test func `null is not what a required form wants`() {
    #expect(throws: JSONError.self) { try json["none"].requireString() }
    #expect(throws: JSONError.self) { try json["none"].requireObject() }
  }

  @Test func `a view keeps its document alive`() throws {
    func inner() throws -> JSON {
      try JSON.parse(Array(#"{"a": [{"b": "text that needs the heap, surely"}]}"#.utf8))["a"][0]
    }
    let view = try inner()
    #expect(view["b"].string == "text that needs the heap, surely")
  }
}
