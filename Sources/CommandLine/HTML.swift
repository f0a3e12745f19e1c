/// Text in the form that an HTML page takes.
package enum HTML {
  package static func text(_ text: some StringProtocol) -> String {
    Printable.text(String(text)).replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing(">", with: "&gt;").replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }
}
