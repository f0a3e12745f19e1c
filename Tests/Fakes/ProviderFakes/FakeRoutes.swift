import HTTPMessages
package import HTTPServer

/// A store's API as routes of our own server. After nil, a timeout, the client waits in vain.
package enum FakeRoutes {
  package static func routes(
    _ places: [(method: String, pattern: String)], byteCountMax: Int = 64 * 1024,
    answer: @escaping @Sendable (FakeRequest) -> FakeAnswer?
  ) -> [Route] {
    places.map { place in
      Route(place.method, place.pattern) { head, _ in
        let headers = head.headers.fields.map {
          (name: $0.name, value: String(decoding: $0.value, as: UTF8.self))
        }
        let takesBody = !["GET", "DELETE"].contains(place.method)
        return .ready(
          Admission(body: takesBody ? .memory(byteCountMax: byteCountMax) : .none) { body in
            let request = FakeRequest(
              method: head.method, path: head.target, headers: headers, body: body)
            guard let answer = answer(request) else { return .pending { _ in } }
            return .ready(
              Response(
                status: answer.status, headers: answer.headers, body: .bytes(answer.body)))
          })
      }
    }
  }
}
