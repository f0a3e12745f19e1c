/// `1 account`, `100,022 accounts`.
func counted(_ count: Int, _ thing: String) -> String {
  grouped(Int64(count)) + " " + (count == 1 ? thing : thing + "s")
}

/// `100,022`
func grouped(_ count: Int64) -> String {
  var text = ""
  for (index, digit) in String(count).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return String(text.reversed())
}
