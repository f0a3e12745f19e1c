import Accounts
import Acts
import Base
import CommandLine
import PublicLinks

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Identifier?>.optional(
    "--after", "link", text: "start after this link", .uuid(of: "a link"))

  static let linkList = Command(
    words: ["link", "list"],
    abstract: "List the public links of an account",
    discussion: """
      The contents are ciphertext, whose key is in the fragment of the link's URL. The tokens in the URLs are \
      not stored: coffer link show finds the link of a URL. Links of a suspended account are not served.
      """,
    examples: ["coffer link list ada"],
    arguments: [CommonArguments.account],
    options: [limit, after],
    answers: PublicLink.listing.shape,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
        let listing = PublicLink.listing
        let page = try listing.page(invocation, by: \.id.description) { limit in
          try PublicLink.list(reader, of: account.id, after: invocation[after], limit: limit)
        }
        return listing.answer(
          page, at: now,
          notice: try page.notice {
            try PublicLink.weight(reader, of: account.id).recordCount
          })
      }
    })
}

extension PublicLink {
  static var listing: Listing<PublicLink> {
    Listing(
      "links",
      [
        .text("link", "LINK") { $0.id.description }, .bytes("bytes", "SIZE") { $0.byteCount },
        .integer("version", "VERSION") { $0.version }, .integer("max_age") { $0.cacheSeconds },
        .time("created", "CREATED") { $0.created },
        .optionalTime("expires", "EXPIRES") { $0.expires },
      ])
  }
}
