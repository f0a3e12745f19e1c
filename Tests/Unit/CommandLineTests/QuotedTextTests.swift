import CommandLine
import Testing

struct QuotedTextTests {
  @Test(arguments: [
    ("  ada ", "ada"), ("acct: ada", "ada"), ("\"user:ada\"", "ada"),
    ("<ada@example.com>,", "ada@example.com"),
    ("stripe:live:subscription:sub_1", "stripe:live:subscription:sub_1"), ("Anything: x", "x"),
    ("", ""),
  ])
  func `labels, quotation marks and spaces are left out`(text: String, plain: String) {
    #expect(QuotedText.plain(text) == plain)
  }

  @Test(arguments: [
    ("https://dashboard.stripe.com/customers/cus_1?tab=2#top", "cus_1"), ("…sub_1…", "sub_1"),
    ("#17.", "17"), ("ada", "ada"), ("https://", "https:"),
  ])
  func `of an address, the last part is used`(plain: String, bare: String) {
    #expect(QuotedText.bare(plain) == bare)
  }

  @Test(arguments: [
    ("stripe:live:sub_1", "stripe:live:sub_1"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#),
    ("a\nb", "'a?b'"), ("$HOME", "'$HOME'"),
  ])
  func `a word is quoted for a shell if it needs that`(word: String, quoted: String) {
    #expect(Printable.shell(word) == quoted)
  }
}
