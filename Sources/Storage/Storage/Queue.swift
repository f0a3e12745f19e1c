/// A first-in, first-out queue. Each operation takes constant time on average.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    // Half of the array is unused: moving the rest now costs each element one move on average.
    if head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Removes and returns the matching elements. Both parts keep their order.
  mutating func removeAll(where matches: (Element) -> Bool) -> [Element] {
    var removed: [Element] = []
    var kept: [Element?] = []
    while let element = popFirst() {
      if matches(element) { removed.append(element) } else { kept.append(element) }
    }
    elements = kept
    head = 0
    return removed
  }
}
