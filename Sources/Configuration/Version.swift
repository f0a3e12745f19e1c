/// Which Coffer this is: what `--version` prints and packages are named with.
package enum Version {
  /// By https://semver.org; CHANGELOG.md tells what came with each.
  package static let text = "0.13.0"
}
