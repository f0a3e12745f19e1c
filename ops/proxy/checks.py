#!/usr/bin/env python3
"""Checks Coffer through a proxy, as clients use it, for ops/proxy/try.

usage: checks.py HOST:PORT BILLING-HOST:PORT BUDGET-HOST:PORT CA DIRECTORY METRICS-PORT

DIRECTORY contains ada.key, the key of an existing account. COFFER_CONFIG and PATH are set for `coffer`.
METRICS-PORT is coffer-sync's own, on this machine.
`coffer request` signs a request and sends it to a server of this script; curl sends it on over HTTP/2.
"""

import http.server
import json
import os
import queue
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

AUTHORITY, BILLING, BUDGET, CA, DIRECTORY, METRICS = sys.argv[1:]
HOST, PORT = AUTHORITY.split(":")
KEY = f"{DIRECTORY}/ada.key"
failures = 0


def check(claim, holds, seen=""):
    global failures
    failures += not holds
    print(f"  {'ok  ' if holds else 'FAIL'} {claim}" + ("" if holds else f": {seen}"), flush=True)


class Catcher(http.server.BaseHTTPRequestHandler):
    caught = None

    def take(self):
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            left -= len(self.rfile.read(min(left, 1 << 16)))
        Catcher.caught = list(self.headers.items())
        self.send_response(204)
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = take

    def log_message(self, *_):
        pass


catcher = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Catcher)
threading.Thread(target=catcher.serve_forever, daemon=True).start()


def signed(method, target, body=None, *headers):
    """The headers of a request that Ada's device signs for the proxy's authority."""
    words = ["coffer", "request", method, target, "--key-file", KEY, "--authority", AUTHORITY]
    words += ["--url", f"http://127.0.0.1:{catcher.server_port}"]
    words += ["--body", body] if body else []
    for header in headers:
        words += ["--header", header]
    subprocess.run(words, capture_output=True, check=False)
    usual = {"host", "accept", "user-agent", "content-length", "expect"}
    return [f"{name}: {value}" for name, value in Catcher.caught if name.lower() not in usual]


def curl(target, *words, host=AUTHORITY, headers=()):
    """Sends one request; returns its status, HTTP version and answer."""
    command = ["curl", "--silent", "--show-error", "--http2", "--cacert", CA, "--path-as-is"]
    command += ["--write-out", "\n%{http_code} %{http_version}", "--dump-header", "-"]
    for header in headers:
        command += ["--header", header]
    done = subprocess.run(
        command + list(words) + [f"https://{host}{target}"], capture_output=True, timeout=60
    )
    text = done.stdout.decode(errors="replace")
    last = text.rsplit("\n", 1)[-1].split(" ")
    return int(last[0] or 0), last[1] if len(last) > 1 else "", text + done.stderr.decode()


def problem(text):
    match = re.search(r"urn:coffer:problem:(\w+)", text)
    return match.group(1) if match else None


def send(method, target, body=None, *headers):
    words = ["--request", method] + (["--data-binary", f"@{body}"] if body else [])
    return curl(target, *words, headers=signed(method, target, body, *headers))


def check_requests():
    status, version, text = send("GET", "/v1/account")
    check("a signed request over HTTP/2 is answered", (status, version) == (200, "2"), text)
    for target in (
        "/v1/files/%7Eada%20x",
        "/v1/files/a%2e%2Eb",
        "/v1/files/%c3%A9%25",
        "/v1/updates?cursor=%2f%2F%3f&limit=1+2",
        "/v1/updates?a=1;b=2&c",
        "/v1/directory?username=a%20b%26",
        "/v1/account?",
        "/v1//account",
    ):
        status, _, text = send("GET", target)
        refused = problem(text) in ("bad_signature", "signature_required") or status >= 500 or status == 0
        check(f"{target} reaches Coffer as it was signed", not refused, text)


def create():
    """Creates a document in Ada's root, without the proxy; returns its id and the finished command."""
    file, root = ident(), json.loads(account())["root"]
    batch = f"{DIRECTORY}/batch.json"
    with open(batch, "w") as out:
        json.dump({"files": [{"expect": "new", "file": {
            "id": file, "owner": json.loads(account())["account"], "parent": root, "type": "document",
            "deleted": False, "name": {"ciphertext": noise(24), "hmac": noise(32)}, "key": noise(40),
        }}]}, out)
    done = subprocess.run(
        ["coffer", "request", "POST", "/v1/files", "--key-file", KEY, "--sign-changes", "--body", batch],
        capture_output=True, text=True,
    )
    return file, done


def check_content():
    file, done = create()
    check("a document is created", done.returncode == 0, done.stdout + done.stderr)
    content = f"{DIRECTORY}/content.bin"
    with open(content, "wb") as out:
        out.write(os.urandom(900_000))
    target = f"/v1/files/{file}/content"
    status, _, text = send("PUT", target, content, 'If-Match: "0"')
    check("900 kB are uploaded over HTTP/2", status in (200, 201, 204), text)
    back = f"{DIRECTORY}/back.bin"
    subprocess.run(
        ["curl", "--silent", "--http2", "--cacert", CA, "--output", back]
        + [word for header in signed("GET", target) for word in ("--header", header)]
        + [f"https://{AUTHORITY}{target}"], check=True,
    )
    same = open(back, "rb").read() == open(content, "rb").read()
    check("and the same bytes are downloaded", same)


def account():
    return subprocess.run(
        ["coffer", "account", "show", "ada", "--json"], capture_output=True, check=True, text=True
    ).stdout


def ident():
    return open("/proc/sys/kernel/random/uuid").read().strip()


def noise(count):
    import base64

    return base64.b64encode(os.urandom(count)).decode()


def check_limits():
    large = f"{DIRECTORY}/large.json"
    with open(large, "wb") as out:
        out.write(b" " * (20 << 20))
    status, _, text = send("POST", "/v1/files", large)
    check("a batch of 20 MiB is 413, with Coffer's problem",
          (status, problem(text)) == (413, "content_too_large"), text[-600:])
    status, _, text = curl("/v1/account", headers=["X-Large: " + "a" * 27_000])
    check("a header of 27 kB is 431, with Coffer's problem",
          (status, problem(text)) == (431, "header_too_large"), text[-600:])
    status, _, text = curl("/v1/account", headers=["X-Large: " + "a" * 20_000])
    check("a header of 20 kB is passed on", status == 401, text[-600:])


def tls():
    context = ssl.create_default_context(cafile=CA)
    return context.wrap_socket(socket.create_connection((HOST, int(PORT)), 10), server_hostname=HOST)


def check_streaming():
    """A client that may not upload gets its answer before most of the body is sent."""
    sent, answer = 0, b""
    with tls() as connection:
        connection.sendall(
            f"PUT /v1/files/{ident()}/content HTTP/1.1\r\nHost: {AUTHORITY}\r\n"
            "If-Match: *\r\nContent-Length: 900000000\r\n\r\n".encode()
        )
        connection.settimeout(0.05)
        try:
            while not answer and sent < 200_000_000:
                sent += connection.send(b"x" * 65536)
                if sent % (64 * 65536) == 0 or connection.pending():
                    try:
                        answer = connection.recv(65536)
                    except TimeoutError:
                        pass
        except OSError:
            connection.settimeout(8)
            try:
                answer = connection.recv(65536)
            except OSError as error:
                answer = repr(error).encode()
    check("a refused upload of 900 MB is answered after a few MB",
          answer.startswith(b"HTTP/1.1 401"), (sent, answer[:300]))


class Listener:
    """A client of Ada's live stream, through the proxy."""

    def __init__(self, version):
        target = "/v1/updates/stream"
        command = ["curl", "--silent", "--no-buffer", f"--http{version}", "--cacert", CA]
        for header in signed("GET", target):
            command += ["--header", header]
        self.version, self.lines = version, queue.Queue()
        self.curl = subprocess.Popen(command + [f"https://{AUTHORITY}{target}"], stdout=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.curl.stdout:
            self.lines.put(line.decode(errors="replace").rstrip())
        self.lines.put(None)

    def hears(self, wanted, seconds):
        """Waits for a line; false if the stream ends before, or the time is over."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                return False
            if line is None or line == wanted:
                return line == wanted
        return False


def open_streams():
    """The number of streams that coffer-sync has open."""
    with urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=10) as answer:
        return re.search(r"^coffer_streams (\d+)", answer.read().decode(), re.M).group(1)


def check_live_updates():
    """Signs of life come every 25 s. What comes earlier was not collected by the proxy."""
    listeners = [Listener("1.1"), Listener("2")]
    for listener in listeners:
        check(f"a live stream is opened over HTTP/{listener.version}, and its first event is there at once",
              listener.hears('data: {"all":true}', 10))
    create()
    for listener in listeners:
        check(f"a change is told at once over HTTP/{listener.version}", listener.hears('data: {"tree":true}', 10))
    for listener in listeners:
        check(f"signs of life come over HTTP/{listener.version} for longer than the proxy waits for an answer",
              all(listener.hears(":", 40) for _ in range(4)))
    create()
    for listener in listeners:
        check(f"and then the next change is told over HTTP/{listener.version}",
              listener.hears('data: {"tree":true}', 10))
        listener.curl.kill()
        listener.curl.wait()
    for _ in range(100):
        if open_streams() == "0":
            break
        time.sleep(0.1)
    check("a stream ends at Coffer when its client leaves the proxy", open_streams() == "0", open_streams())


def check_addresses():
    """A stranger is identified by the address that the proxy saw, not by the one that it claims."""
    with open(f"{DIRECTORY}/forged", "w") as out:
        for number in range(140):
            out.write(f'url = "https://{AUTHORITY}/v1/account?{number}"\n')
            out.write(f'header = "X-Forwarded-For: 198.51.100.{number}"\n')
            out.write('header = "Authorization: Bearer AAAA"\noutput = /dev/null\n')
            out.write(f'cacert = "{CA}"\nhttp2\nwrite-out = "%{{http_code}}\\n"\nnext\n')
    done = subprocess.run(
        ["curl", "--silent", "--config", f"{DIRECTORY}/forged"], capture_output=True, text=True
    )
    codes = done.stdout.split()
    check("140 refusals under as many claimed addresses count as one client's and end in 429",
          codes.count("429") > 0 and codes.count("401") >= 100, sorted(set(codes)))


def check_pages():
    status, _, text = curl(
        "/v1/files", "--request", "OPTIONS",
        headers=["Origin: https://app.example.com", "Access-Control-Request-Method: POST"],
    )
    check("a browser's preflight request is answered",
          status == 204 and "access-control-allow-origin: https://app.example.com" in text.lower(), text)


def check_billing():
    status, version, text = curl(
        "/webhooks/stripe", "--request", "POST", "--data-binary", "{}", host=BILLING)
    check("a forged webhook is refused by coffer-billing", status in (400, 401) and problem(text), text)
    check("also over HTTP/2", version == "2", version)


def ask(method, target, body=b"", *headers):
    """Sends a request as an app of Actual does; returns its status and the bytes of the answer."""
    sent, answer = f"{DIRECTORY}/sent", f"{DIRECTORY}/answer"
    for path, content in ((sent, body), (answer, b"")):
        with open(path, "wb") as out:
            out.write(content)
    words = ["--request", method, "--output", answer] + (["--data-binary", f"@{sent}"] if body else [])
    status, _, _ = curl(target, *words, host=BUDGET, headers=headers)
    with open(answer, "rb") as file:
        return status, file.read()


def log_in(password, *headers):
    body = json.dumps({"loginMethod": "password", "password": password}).encode()
    return ask("POST", "/account/login", body, "Content-Type: application/json", *headers)


def field(number, content):
    """A field of a protobuf message, with less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def check_budgets():
    """An app of Actual at a host of its own."""
    made = subprocess.run(
        ["coffer", "app-password", "create", "ada", "--json"], capture_output=True, check=True, text=True
    )
    status, answer = log_in(json.loads(made.stdout)["password"])
    check("an app of Actual logs in", status == 200, (status, answer))
    token = "X-ACTUAL-TOKEN: " + (json.loads(answer)["data"]["token"] if status == 200 else "none")
    files, group = [], ""
    # nginx takes at most 1 MB unless it is configured.
    for size, count in (("10 kB", 10_000), ("3 MB", 3_000_000)):
        content = os.urandom(count)
        files.append(ident())
        named = (token, f"X-ACTUAL-FILE-ID: {files[-1]}")
        status, answer = ask(
            "POST", "/sync/upload-user-file", content, *named, "X-ACTUAL-NAME: My%20Budget",
            "X-ACTUAL-FORMAT: 2", "Content-Type: application/encrypted-file",
        )
        check(f"a budget of {size} is uploaded", status == 200, (status, answer[:600]))
        group = json.loads(answer)["groupId"] if status == 200 else ""
        status, back = ask("GET", "/sync/download-user-file", b"", *named)
        check("and the same bytes are downloaded", status == 200 and back == content, (status, back[:600]))
    status, answer = ask("GET", "/sync/list-user-files", b"", token)
    listed = [(each["fileId"], each["name"]) for each in json.loads(answer)["data"]] if status == 200 else []
    check("both budgets are listed", listed == [(file, "My Budget") for file in sorted(files)], (status, answer))
    check_messages(token, files[-1], group)
    check_hosts()
    check_web_app()
    # The last one, because then this address may not log in.
    statuses = [log_in("wrong", f"X-Forwarded-For: 198.51.100.{number}")[0] for number in range(25)]
    check("25 wrong passwords under as many claimed addresses count as one client's and end in 429",
          (statuses[0], statuses[-1]) == (400, 429), statuses)


def check_messages(token, file, group):
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z-0000-0123456789abcdef", time.gmtime()).encode()
    message = field(1, field(1, stamp) + field(3, os.urandom(40)))
    names = field(2, file.encode()) + field(3, group.encode())
    names += field(6, b"1970-01-01T00:00:00.000Z-0000-0000000000000000")
    form = "Content-Type: application/actual-sync"
    status, answer = ask("POST", "/sync/sync", message + names, token, form)
    check("a change is synced", status == 200 and b'{"hash":' in answer, (status, answer))
    status, answer = ask("POST", "/sync/sync", names, token, form)
    check("and the next client gets it", status == 200 and answer.startswith(message), (status, answer))


def check_hosts():
    target = "/account/needs-bootstrap"
    status, _, text = curl(target)
    check("the host of the API does not serve apps of Actual",
          (status, problem(text)) == (404, "not_found"), text)
    status, _, text = curl(target, host=BUDGET, headers=["Host: other.example.com"])
    check("nor does a host that is not named", status != 0 and "bootstrapped" not in text, text)
    status, _, text = curl("/v1/account", host=BUDGET, headers=signed("GET", "/v1/account"))
    check("the host of the apps does not serve the API", (status, problem(text)) == (401, "wrong_host"), text)


def check_web_app():
    status, _, text = curl("/", "--compressed", host=BUDGET)
    fields = text.lower()
    check("the web app comes with the fields that isolate it",
          status == 200 and "<title>actual</title>" in fields
          and "cross-origin-opener-policy: same-origin" in fields
          and "cross-origin-embedder-policy: require-corp" in fields, text[:900])
    check("and is compressed", "content-encoding: gzip" in fields, text[:900])


def handshake(*words):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", AUTHORITY, "-servername", HOST, "-CAfile", CA, *words],
        input=b"", capture_output=True, timeout=20,
    )
    return b"Verify return code: 0" in done.stdout and b"Cipher is (NONE)" not in done.stdout


def check_tls():
    for words, taken in (
        (["-tls1_3"], True),
        (["-tls1_2"], True),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], True),
        (["-tls1_2", "-cipher", "AES128-GCM-SHA256:AES128-SHA:@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"], False),
        (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], False),
        (["-tls1", "-cipher", "ALL:@SECLEVEL=0"], False),
    ):
        check(f"{' '.join(words)} is {'accepted' if taken else 'refused'}", handshake(*words) == taken)


check_tls()
check_requests()
check_content()
check_budgets()
check_limits()
check_streaming()
check_live_updates()
check_pages()
check_billing()
check_addresses()
sys.exit(1 if failures else 0)
