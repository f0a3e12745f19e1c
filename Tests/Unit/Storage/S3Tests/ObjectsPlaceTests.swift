import Base
import Glibc
import Objects
import S3
import TestEngines
import Testing

/// Which stores a program opens, makes or refuses, by its settings.
@Suite struct ObjectsPlaceTests {
  private let scratch: ScratchDirectory
  private let history = Identifier(high: 7, low: 7)

  init() throws { scratch = try ScratchDirectory() }

  private var home: String { scratch.path }

  private func part(_ name: String) -> ObjectsPlace.Part {
    .init(.directory("\(home)/\(name)"), nil)
  }

  private func pair(_ main: String, also: String) -> ObjectsPlace {
    ObjectsPlace(part(main), also: part(also))
  }

  /// An installation with the store `old`.
  private func start() throws {
    try ObjectStores.serve(ObjectsPlace(part("old")), isFirst: true).belong(to: history)
  }

  @Test func `a server makes the new store, and a command does not`() throws {
    try start()
    #expect(throws: ObjectStoreError.self) {
      try ObjectStores.open(pair("new", also: "old"))
    }
    _ = try ObjectStores.serve(pair("new", also: "old"), isFirst: false)
    _ = try ObjectStores.open(pair("new", also: "old"))
  }

  @Test func `while objects are in two stores, no program opens one of them alone`() throws {
    try start()
    try ObjectStores.serve(pair("new", also: "old"), isFirst: false).belong(to: history)
    for name in ["new", "old"] {
      for isFirst in [false, true] {
        let failure = #expect(throws: ObjectStoreError.self) {
          try ObjectStores.serve(ObjectsPlace(part(name)), isFirst: isFirst)
        }
        #expect("\(try #require(failure))".contains("set COFFER_OBJECTS_ALSO"))
      }
    }
    let moved = try #require(
      try ObjectStores.open(pair("new", also: "old")) as? PairStore)
    try moved.finish()
    _ = try ObjectStores.open(ObjectsPlace(part("new")))
    #expect(throws: ObjectStoreError.self) { try ObjectStores.open(ObjectsPlace(part("old"))) }
  }

  @Test(arguments: ["new", "old"])
  func `a store that was there is not made again`(_ name: String) throws {
    try start()
    try ObjectStores.serve(pair("new", also: "old"), isFirst: false).belong(to: history)
    #expect(unsafe rename("\(home)/\(name)", "\(home)/away") == 0)
    let failure = #expect(throws: ObjectStoreError.self) {
      try ObjectStores.serve(pair("new", also: "old"), isFirst: false)
    }
    #expect("\(try #require(failure))".contains("\(home)/\(name); is its disk mounted?"))
  }

  @Test func `two missing stores are made by the first start only`() throws {
    #expect(throws: ObjectStoreError.self) {
      try ObjectStores.serve(pair("new", also: "old"), isFirst: false)
    }
    _ = try ObjectStores.serve(pair("new", also: "old"), isFirst: true)
  }

  @Test func `a place without a store is none for an export, and a refusal for the rest`() throws {
    #expect(try ObjectStores.find(ObjectsPlace(part("old"))) == nil)
    #expect(throws: ObjectStoreError.self) { try ObjectStores.open(ObjectsPlace(part("old"))) }
  }

  @Test(arguments: [
    "file:///var/lib/coffer/objects", "s3://b/?region=eu&endpoint=https://s3.example.com",
    "s3://b/a/c?region=eu&endpoint=https://s3.example.com:9000",
  ])
  func `a location says itself in the form of settings`(_ text: String) throws {
    let location = try #require(ObjectsLocation(text))
    #expect(location.description == text)
    #expect(ObjectsLocation(location.description) == location)
  }
}
