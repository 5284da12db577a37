#!/usr/bin/env python3
"""A hub on this machine, for tests/cli/pull.sh: hub_server.py FOLDER LOG PORTS [CERTIFICATE KEY]

Serves every folder below FOLDER as a repository, OWNER/FOLDER, by the API that `solo pull` uses. What the owner is called
says how it behaves. Each request is a line of LOG: which host, path, range, token. The ports of the hub, of a second
host, where files are redirected to, and with a certificate of the hub over HTTPS are written into PORTS. It ends when its
input does.
"""
import hashlib
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

root, log, ports = sys.argv[1:4]
certificate = sys.argv[4:6]
TOKEN = "hf_right"
PIECE = 1_000_000  # how much of a file comes before it is cut
SLOW_PIECE = 40_000
seen = {}  # how often a path was asked for
lock = threading.Lock()


def digest(data):
    """Large files go by their SHA-256, small ones as git calls them."""
    git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    if len(data) < 10_000:
        return {"oid": git}
    return {"oid": git, "lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 135}}


def entries_of(repo):
    found = []
    for folder, _, names in os.walk(os.path.join(root, repo)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                data = f.read()
            found.append({"type": "file", "path": os.path.relpath(path, os.path.join(root, repo)), "size": len(data), **digest(data)})
    return found + [{"type": "directory", "path": "a-folder", "oid": "0" * 40, "size": 0}]


HOSTILE = {
    "climb": "../../../../escaped.gguf",
    "absolute": "/tmp/escaped.gguf",
    "inside": "a/../../../escaped.gguf",
    "control": "a\x1b[2Jb.gguf",
    "newline": "a\nb.gguf",
    "long": "a" * 300 + ".gguf",
    "deep": "a/" * 600 + "b.gguf",
    "backslash": "a\\..\\escaped.gguf",
    "empty": "a//b.gguf",
    "nul": "a\x00b.gguf",
}


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, data=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        name = "other" if self.server is other else "hub"
        with lock:
            seen[self.path] = seen.get(self.path, 0) + 1
            with open(log, "a") as f:
                f.write(f"{name} {url.path} range={self.headers.get('Range', '-')} token={self.headers.get('Authorization', '-')}\n")
        words = urllib.parse.unquote(url.path).strip("/").split("/")
        try:
            if words[:2] == ["api", "models"] and words[4:5] == ["tree"]:
                self.tree(words[2], words[3], urllib.parse.parse_qs(url.query))
            elif words[2:3] == ["resolve"]:
                self.resolve(words[0], words[1], "/".join(words[4:]))
            else:
                self.reply(404)
        except (BrokenPipeError, ConnectionResetError):
            pass

    # ---- lists ---------------------------------------------------------------------------------

    def tree(self, owner, repo, query):
        authorized = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if owner == "private" and not authorized:
            return self.reply(401)
        if owner == "gated":
            return self.reply(403)
        if owner == "busy":
            return self.reply(429)
        if owner == "page":
            return self.reply(200, b"<html>Please log in</html>", Content_Type="text/html")
        if owner == "silent":
            time.sleep(20)
        if not os.path.isdir(os.path.join(root, repo)):
            return self.reply(404)
        entries = entries_of(repo)
        for entry in entries:
            if owner == "wrong" and entry["path"].endswith(".gguf"):
                entry["lfs"]["oid"] = "0" * 64
            if owner == "more" and "lfs" in entry:
                entry["lfs"]["size"] -= 1000
            if owner == "less" and "lfs" in entry:
                entry["lfs"]["size"] += 1000
            if owner == "huge" and "lfs" in entry:
                entry["lfs"]["size"] = 1 << 49
            if owner == "nosum":
                entry.pop("oid")
                entry.pop("lfs", None)
        if owner.startswith("hostile-"):
            entries.append({"type": "file", "path": HOSTILE[owner[8:]], "size": 3, "oid": "0" * 40})
        if owner == "endless":
            return self.reply(200, json.dumps([]).encode(), Link=f'<http://{self.headers["Host"]}{self.path}>; rel="next"')
        if owner == "elsewhere":
            return self.reply(200, json.dumps(entries).encode(), Link=f'<http://127.0.0.1:{other.server_port}/x>; rel="next"')
        if owner == "pages":  # two entries each
            at = int(query.get("cursor", ["0"])[0])
            link = f'<http://{self.headers["Host"]}{self.path.split("&")[0]}&cursor={at + 2}>; rel="next"'
            return self.reply(200, json.dumps(entries[at : at + 2]).encode(), **({"Link": link} if at + 2 < len(entries) else {}))
        self.reply(200, json.dumps(entries).encode(), Content_Type="application/json")

    # ---- files ---------------------------------------------------------------------------------

    def resolve(self, owner, repo, path):
        times = seen[self.path]
        here = f"http://{self.headers['Host']}"
        if owner == "redirect" and self.server is not other:
            return self.reply(302, Location=f"http://127.0.0.1:{other.server_port}{self.path}")
        if owner == "moved" and not self.path.endswith("?again"):
            return self.reply(307, Location=f"{self.path}?again")
        if owner == "circle":
            return self.reply(302, Location=f"{here}{self.path}")
        if owner == "password":
            return self.reply(302, Location=f"http://user:secret@{self.headers['Host']}{self.path}")
        if owner == "local":
            return self.reply(302, Location="file:///etc/passwd")
        if owner == "escape":
            return self.reply(302, Location=f"{here}/a\x1b[2Jb\x9b")
        if owner == "html":
            return self.reply(200, b"<html>Sorry</html>" * 1000, Content_Type="text/html; charset=utf-8")
        if owner == "trouble" and times <= 2:
            return self.reply(503)
        if owner == "gone":
            return self.reply(404)
        with open(os.path.join(root, repo, path), "rb") as f:
            data = f.read()
        first, status = 0, 200
        wanted = self.headers.get("Range", "")
        if wanted and owner != "norange":
            first, status = int(wanted[6:].rstrip("-")), 206
            if first >= len(data):
                return self.reply(416)
        if owner == "othersum" and path.endswith(".gguf"):  # of the same length
            data = data[:-1] + bytes([data[-1] ^ 1])
        self.send_response(status)
        if status == 206:
            shift = 10 if owner == "shifted" else 0
            self.send_header("Content-Range", f"bytes {first + shift}-{len(data) - 1}/{len(data)}")
        if owner == "nolength":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        self.send_bytes(owner, data[first:])

    def send_bytes(self, owner, data):
        if owner in ("cut", "cutonce", "shifted", "norange") and len(data) > PIECE and not (owner == "cutonce" and seen[self.path] > 1):
            self.wfile.write(data[: PIECE + 1234])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
        elif owner == "dead":  # the first try brings some, the others nothing
            self.wfile.write(b"" if "Range" in self.headers else data[:1_500_000])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
        elif owner == "stall":
            self.wfile.write(b"" if "Range" in self.headers else data[:PIECE])
            self.wfile.flush()
            time.sleep(20)
        elif owner == "slow":
            for at in range(0, len(data), SLOW_PIECE):
                self.wfile.write(data[at : at + SLOW_PIECE])
                self.wfile.flush()
                time.sleep(0.05)
        else:
            self.wfile.write(data)
        if owner == "nolength":
            self.close_connection = True


hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
other = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
servers = [hub, other]
if certificate:
    servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Hub))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    servers[2].socket = context.wrap_socket(servers[2].socket, server_side=True, do_handshake_on_connect=False)
    servers[2].handle_error = lambda *_: None  # clients that do not trust it are expected
for server in servers:
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
with open(ports + ".new", "w") as f:
    print(*(server.server_port for server in servers), file=f)
os.rename(ports + ".new", ports)
sys.stdin.read()
