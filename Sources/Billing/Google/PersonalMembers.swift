import JSON

/// The buyer's personal data in answers, which is not kept.
enum PersonalMembers {
  /// In a purchase: profile, names and e-mail address. In an order: where the buyer lives.
  private static let names: Set = ["subscribeWithGoogleInfo", "buyerAddress"]

  /// The text of an object without these members; the rest stays byte for byte. `json` is the parsed text.
  static func removed(from text: [UInt8], parsed json: JSON) -> [UInt8] {
    guard let members = json.members, members.contains(where: { names.contains($0.name) }) else {
      return text
    }
    let kept = zip(members, texts(ofMembersIn: text)).filter { !names.contains($0.0.name) }
    return Array("{".utf8) + kept.map { $0.1 }.joined(separator: Array(",".utf8))
      + Array("}".utf8)
  }

  /// One text for each member including its name, in order. The object is known to be valid.
  private static func texts(ofMembersIn text: [UInt8]) -> [ArraySlice<UInt8>] {
    var texts: [ArraySlice<UInt8>] = []
    var (depth, start, index, isInString) = (0, 0, 0, false)
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\""): isInString.toggle()
      case UInt8(ascii: "\\") where isInString: index += 1
      case _ where isInString: break
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        if depth == 1 { start = index + 1 }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 { texts.append(text[start..<index]) }
      case UInt8(ascii: ",") where depth == 1:
        texts.append(text[start..<index])
        start = index + 1
      default: break
      }
      index += 1
    }
    return texts
  }
}
