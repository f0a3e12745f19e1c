import Base
import Crypto

/// A reader of the files in an archive that `ArchiveWriter` made.
///
/// Opening it reads only headers and the manifest. Trust nothing before `verify` has accepted it.
package struct ArchiveReader: Sendable {
  /// A file in the archive.
  package struct File: Sendable {
    package let name: String
    package let byteCount: Int64
    fileprivate let offset: Int64
    fileprivate var digest: [UInt8] = []
  }

  package let path: String
  /// In the archive's order, without the manifest.
  package private(set) var files: [File] = []
  /// The SHA-256 of the manifest, which covers the whole archive.
  package private(set) var digest: [UInt8] = []
  private let file: OpenFile
  private var places: [String: Int] = [:]

  package static let manifestName = "manifest"
  private static let partByteCount = 1 << 20
  private static let headPartByteCount: Int64 = 1 << 16
  /// The most bytes read into memory at once: enough for a manifest of two million files.
  private static let memoryByteCountMax: Int64 = 1 << 28

  /// Throws if the file is not a whole archive of that kind, or its format is later than `format`.
  package init(_ path: String, kind: String, format: Int) throws(ArchiveError) {
    do throws(OpenFile.Refusal) { file = try OpenFile(named: path) } catch {
      throw ArchiveError(.refused, "\(path) \(error.text)")
    }
    self.path = path
    try list()
    try readManifest(kind, format)
  }

  /// The file of that name; nil if there is none.
  package func file(named name: String) -> File? { places[name].map { files[$0] } }

  /// Reads every byte and checks it against the manifest. `each` gets the size of every part.
  package func verify(each: (Int64) -> Void) throws(ArchiveError) {
    for file in files {
      let digest = SHA256Stream()
      try read(file) { (part) throws(ArchiveError) in
        digest.update(unsafe part.span.bytes)
        each(Int64(part.count))
      }
      guard digest.finalize() == file.digest else {
        throw refused("\(file.name) does not match the manifest")
      }
    }
  }

  /// Reads a whole file.
  package func bytes(of file: File) throws(ArchiveError) -> [UInt8] {
    guard file.byteCount <= Self.memoryByteCountMax else {
      throw refused("\(file.name) is too large")
    }
    var bytes: [UInt8] = []
    try read(file) { (part) throws(ArchiveError) in bytes += part }
    return bytes
  }

  /// Reads a file in parts, in order.
  package func read(
    _ file: File, each: (ArraySlice<UInt8>) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    var done: Int64 = 0
    while done < file.byteCount {
      let part = try bytes(
        at: file.offset + done, count: Int(min(Int64(Self.partByteCount), file.byteCount - done)))
      try each(part[...])
      done += Int64(part.count)
    }
  }

  private mutating func list() throws(ArchiveError) {
    var offset: Int64 = 0
    // A part of the archive is read at a time, because headers of small files lie close together.
    var (part, start) = ([UInt8](), Int64(0))
    while true {
      if offset < start || offset + Int64(TarHeader.byteCount) > start + Int64(part.count) {
        let count = min(Self.headPartByteCount, file.byteCount - offset)
        (part, start) = (
          try bytes(at: offset, count: Int(max(count, Int64(TarHeader.byteCount)))), offset
        )
      }
      let place = Int(offset - start)
      let bytes = Array(part[place..<place + TarHeader.byteCount])
      offset += Int64(TarHeader.byteCount)
      if bytes[0] == 0, bytes.allSatisfy({ $0 == 0 }) { break }
      guard let header = TarHeader(bytes) else { throw refused("it is no archive of ours") }
      guard places.updateValue(files.count, forKey: header.name) == nil else {
        throw refused("\(header.name) comes twice")
      }
      files.append(File(name: header.name, byteCount: header.fileByteCount, offset: offset))
      offset += header.fileByteCount + Int64(TarHeader.padding(after: header.fileByteCount))
    }
  }

  private mutating func readManifest(_ kind: String, _ format: Int) throws(ArchiveError) {
    guard let last = files.popLast(), last.name == Self.manifestName else {
      throw refused("it has no manifest at its end")
    }
    places[last.name] = nil
    let bytes = try bytes(of: last)
    digest = SHA256.hash(bytes)
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count >= 3, lines.popLast() == [], let end = lines.popLast() else {
      throw refused("its manifest is cut off")
    }
    let title = words(lines[0])
    guard title.count == 2, title[0] == kind, let number = Int(title[1]), number > 0 else {
      throw refused("it is no \(kind)")
    }
    guard number <= format else {
      throw refused("it has format \(number); this program reads up to \(format)")
    }
    let said = bytes[..<end.startIndex]
    guard words(end) == ["end", String(files.count), Hex.encode(SHA256.hash(Array(said)))],
      lines.count == files.count + 1
    else { throw refused("its manifest is damaged") }
    for (index, line) in lines.dropFirst().enumerated() {
      let beginning = "file \(files[index].name) \(files[index].byteCount) ".utf8
      guard line.starts(with: beginning),
        let text = String(validating: line.dropFirst(beginning.count), as: UTF8.self),
        let digest = Hex.decode(text)
      else { throw refused("\(files[index].name) does not match the manifest") }
      files[index].digest = digest
    }
  }

  private func words(_ line: ArraySlice<UInt8>) -> [String] {
    String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
      .map { String($0) }
  }

  private func bytes(at offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
    guard offset >= 0, offset <= file.byteCount - Int64(count) else {
      throw refused("it is cut off")
    }
    guard let bytes = file.read(at: offset, count: count) else { throw .system("read", path) }
    return bytes
  }

  private func refused(_ why: String) -> ArchiveError {
    ArchiveError(.refused, "\(path) cannot be used: \(why)")
  }
}
