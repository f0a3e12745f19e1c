"""Copies the checkout to .build/mutate/tree with mutations behind a switch, and builds its tests.

Mutations that do not compile are dropped. The rest stand in .build/mutate/mutants.json.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys

HOME = ".build/mutate"
TREE = HOME + "/tree"

# Compiled into every target that has a mutation.
SWITCH = """\
import Glibc

/// Whether this mutation is the one that MUTANT names. MUTANT=trace notes which are reached.
func mutant(_ number: Int) -> Bool {
  if Mutants.trace { Mutants.note(number) }
  return Mutants.chosen == number
}

private enum Mutants {
  static let value = unsafe getenv("MUTANT").map { unsafe String(cString: $0) } ?? ""
  static let chosen = Int(value)
  static let trace = value == "trace"
  static let folder = unsafe getenv("MUTANT_TRACE").map { unsafe String(cString: $0) } ?? ""

  static func note(_ number: Int) {
    let file = unsafe open("\\(folder)/\\(number)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o666)
    if file >= 0 { close(file) }
  }
}
"""

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
UNTOUCHED = re.compile(r"\b(let|var|case|try|await|consume|inout|assert|precondition|fatalError)\b|[&]\w|^#")
# A call, or an assignment. Without an assignment to a plain name the name may have no value.
STATEMENT = re.compile(r"(try )?[a-z_][\w.?!]*(\(.*\)|(\[.+\])? (\+=|-=) .+|\[.+\] = .+)|(?!self\.)[a-z]\w*\.[\w.?!]+ = .+")


def balanced(text):
    """Whether every bracket of the text is closed within it, so that it is a whole expression."""
    pairs, stack, quoted = {")": "(", "]": "[", "}": "{"}, [], False
    for before, char in zip(" " + text, text):
        if char == '"' and before != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            stack.append(char)
        elif char in pairs and (not stack or stack.pop() != pairs[char]):
            return False
    return not stack and not quoted


def elements(text):
    """The parts of a condition between its commas."""
    parts, start = [], 0
    for end in [i for i, char in enumerate(text) if char == ","] + [len(text)]:
        if balanced(text[start:end]):
            parts.append(text[start:end].strip())
            start = end + 1
    return parts


def changed(expression, randomly):
    """Another expression of the same type, or nothing."""
    options = []
    if expression in ("true", "false"):
        return {"true": "false", "false": "true"}[expression]
    found = re.findall(r" (<=|>=|==|!=|<|>) ", expression)
    joined = re.findall(r" (&&|\|\|) ", expression)
    if len(found) == 1 and not joined:
        options.append(expression.replace(f" {found[0]} ", f" {COMPARISONS[found[0]]} "))
    if len(set(joined)) == 1:
        options.append(expression.replace(joined[0], {"&&": "||", "||": "&&"}[joined[0]]))
    sums = re.findall(r" ([+-]) ", expression)
    if len(sums) == 1 and not found and '"' not in expression:
        options.append(expression.replace(f" {sums[0]} ", " - " if sums[0] == "+" else " + "))
    return randomly.choice(options) if options else None


def mutation(number, line, before, after, randomly):
    """The line with the mutation behind its switch, and what it says with it; or nothing."""
    text = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if match := re.fullmatch(r"((?:\} else )?if |guard )(.+?)( else \{.*| \{(?: .* \})?)", text):
        parts = elements(match[2])
        usable = [p for p in parts if balanced(p) and not UNTOUCHED.search(p) and "{" not in p]
        if not usable:
            return None
        part = randomly.choice(usable)
        other = changed(part, randomly)
        if other is None or randomly.random() < 0.5:
            other = part[1:] if re.fullmatch(r"![\w.]+", part) else f"!({part})"
        switched = f"(mutant({number}) ? {other} : {part})"
        rest = [other if p is part else p for p in parts], [switched if p is part else p for p in parts]
        said, written = (f"{match[1]}{', '.join(r)}{match[3]}" for r in rest)
        return indent + written, said
    if match := re.fullmatch(r"return (.+)", text):
        if not balanced(match[1]) or UNTOUCHED.search(match[1]) or "{" in match[1]:
            return None
        if after.lstrip().startswith((".", "?", ":", "&&", "||", "+", "-")):
            return None
        other = changed(match[1], randomly)
        if other is None:
            return None
        return f"{indent}return mutant({number}) ? {other} : {match[1]}", f"return {other}"
    if STATEMENT.fullmatch(text) or re.fullmatch(r"throw .+", text):
        whole = balanced(text) and not re.search(r"\b(await|log|precondition|assert|fatalError)\b", text)
        continued = after.lstrip().startswith((".", "?", ":", "&&", "||", "+", "-", "{"))
        if not whole or continued or not before.rstrip().endswith(("{", "}", ")", "in")):
            return None
        return f"{indent}if !mutant({number}) {{ {text} }}", f"without {text}"
    return None


def candidates(targets, randomly):
    """Every line of the targets that can have a mutation, in random order."""
    places = []
    for target in targets:
        for folder, folders, files in os.walk(target):
            folders[:] = sorted(f for f in folders if os.path.join(folder, f) not in targets)
            for name in sorted(files):
                if not name.endswith(".swift"):
                    continue
                path, text = os.path.join(folder, name), False
                with open(path, encoding="utf-8") as file:
                    lines = file.read().split("\n")
                for at, line in enumerate(lines):
                    text ^= line.count('"""') % 2 == 1
                    if text or '"""' in line or line.lstrip().startswith(("//", '"')):
                        continue
                    around = lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
                    if mutation(0, line, *around, random.Random(0)):
                        places.append((target, path, at, line, *around))
    randomly.shuffle(places)
    return places


def write(mutants):
    """Writes the sources anew, with these mutations."""
    files = {}
    for mutant in mutants:
        files.setdefault(mutant["file"], []).append(mutant)
    for path, there in files.items():
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for mutant in there:
            lines[mutant["line"] - 1] = mutant["written"]
        with open(os.path.join(TREE, path), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def restore(path):
    shutil.copyfile(path, os.path.join(TREE, path))


def blamed(output, mutants):
    """The mutations at or before the places of the compiler's errors."""
    blame = set()
    errors = set(re.findall(r"^(\S+?\.swift):(\d+):\d+: error:", output, re.M))
    for path, line in errors:
        path = os.path.relpath(path, os.path.realpath(TREE))
        there = [m for m in mutants if m["file"] == path]
        near = [m for m in there if m["line"] <= int(line)] or there
        if near:
            blame.add(max(near, key=lambda m: m["line"])["number"])
    return blame


def main():
    parser = argparse.ArgumentParser(prog="ops/mutate")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    state = f"{HOME}/mutants.json"
    if os.path.exists(state):
        print(f"continuing with {state}; delete {HOME} to begin anew")
        return

    shutil.rmtree(TREE, ignore_errors=True)
    for path in subprocess.check_output(["git", "ls-files", "-z"], text=True).split("\0")[:-1]:
        os.makedirs(os.path.dirname(os.path.join(TREE, path)), exist_ok=True)
        shutil.copy2(path, os.path.join(TREE, path), follow_symlinks=False)
    # Tests start Coffer's programs without their own environment, but for these names.
    sanitizers = os.path.join(TREE, "Tests/Support/TestFiles/Sanitizers.swift")
    with open(sanitizers, encoding="utf-8") as file:
        passed = file.read().replace('"TSAN_OPTIONS"', '"TSAN_OPTIONS", "MUTANT", "MUTANT_TRACE"')
    with open(sanitizers, "w", encoding="utf-8") as file:
        file.write(passed)

    package = json.loads(subprocess.check_output(["swift", "package", "describe", "--type", "json"]))
    targets = {
        t["path"] for t in package["targets"]
        if t["path"].startswith("Sources/") and t["module_type"] == "SwiftTarget"
    }
    randomly = random.Random(arguments.seed)
    places = candidates(sorted(targets), randomly)
    print(f"{len(places)} places, seed {arguments.seed}", flush=True)
    # Some do not compile.
    places = places[: arguments.count * 5 // 4]
    mutants = []
    for number, (target, path, at, line, before, after) in enumerate(places, 1):
        written, said = mutation(number, line, before, after, randomly)
        mutants.append({
            "number": number, "target": target, "file": path, "line": at + 1,
            "was": line.strip(), "is": said, "written": written,
        })
    for target in {m["target"] for m in mutants}:
        with open(os.path.join(TREE, target, "Mutant.swift"), "w", encoding="utf-8") as file:
            file.write(SWITCH)
    write(mutants)

    build = ["swift", "build", "--build-tests", "--package-path", TREE, "--scratch-path", f"{HOME}/build"]
    while True:
        done = subprocess.run(build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            break
        blame = blamed(done.stdout, mutants)
        if not blame:
            sys.exit("\n".join(done.stdout.split("\n")[-40:]))
        for mutant in mutants:
            if mutant["number"] in blame:
                print(f"does not compile: {mutant['file']}:{mutant['line']}: {mutant['is']}", flush=True)
                restore(mutant["file"])
        mutants = [m for m in mutants if m["number"] not in blame]
        write(mutants)
    mutants = mutants[: arguments.count]
    with open(state, "w", encoding="utf-8") as file:
        json.dump(mutants, file, indent=1)
    print(f"{len(mutants)} mutations are compiled", flush=True)


main()
