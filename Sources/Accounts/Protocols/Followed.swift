package import Base
package import Storage

/// The news of a topic of another account, which concern an account that sees its data.
package struct Followed: Hashable, Sendable {
  package let owner: Identifier
  package let topic: News.Topic
  /// Nil if all news of the topic do.
  package let subject: Identifier?

  package init(_ owner: Identifier, _ topic: News.Topic, _ subject: Identifier? = nil) {
    self.owner = owner
    self.topic = topic
    self.subject = subject
  }
}
