#!/usr/bin/env python3
"""A tool worker that says a text back after a while, with the standard library only.

    curl localhost:8080/run -d '{"input": {"text": "hello", "after_ms": 500}}'
"""

import json
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST_BYTES = 4 << 20
RESERVE = 0.25  # seconds before the deadline, for the answer
RETRYABLE = {"UPSTREAM_ERROR", "TIMEOUT"}


class ToolError(Exception):
    def __init__(self, code, message, details=None):
        super().__init__(message)
        self.code, self.message, self.details = code, message, details or {}


def later(given, wait):
    """The tool: what it takes, and what it gives."""
    if set(given) - {"text", "after_ms"} or not isinstance(given.get("text", ""), str):
        raise ToolError("VALIDATION_ERROR", "the input is {text, after_ms}")
    after = given.get("after_ms", 0)
    if type(after) is not int or after < 0:
        raise ToolError("VALIDATION_ERROR", "after_ms is not a whole number from 0")
    wait(after / 1000)
    return {"text": given.get("text", "")}


# All below is the same for every tool.


def once(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def refuse(constant):
    raise ValueError(constant + " is no JSON")


def read(body):
    """Gives meta and input of an envelope; meta may be missing."""
    try:
        call = json.loads(body.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise ToolError("VALIDATION_ERROR", "the body is not one JSON object") from None
    if not isinstance(call, dict):
        raise ToolError("VALIDATION_ERROR", "the body is not one JSON object")
    meta = call.get("meta") or {}
    if not isinstance(meta, dict):
        raise ToolError("VALIDATION_ERROR", "meta is no object")
    return meta, call.get("input")


def deadline_of(meta, header, now):
    """Gives the earlier one of the two deadlines; both may be missing."""
    at = meta.get("deadline_ms")
    try:
        if isinstance(at, (str, bool)):
            raise ValueError
        left = math.inf if header is None else int(header) / 1000
        return min(math.inf if at is None else at / 1000, now + left)
    except (TypeError, ValueError, OverflowError):
        raise ToolError("VALIDATION_ERROR", "the deadline is not a number of milliseconds") from None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self):
        if self.path == "/healthz":
            self.answer(200, {"ok": True})
        elif self.path == "/run":
            self.answer(405, {"ok": False}, {"Allow": "POST"})
        else:
            self.answer(404, {"ok": False})

    def do_POST(self):
        if self.path != "/run":
            self.close_connection = True
            self.answer(404, {"ok": False})
            return
        began, meta = time.time(), {}
        try:
            meta, given = read(self.body())
            if not isinstance(given, dict):
                raise ToolError("VALIDATION_ERROR", "the body has no input object")
            deadline = deadline_of(meta, self.headers.get("X-Request-Timeout-Ms"), began)
            if deadline <= time.time():
                raise ToolError("TIMEOUT", "the deadline had passed before the call came")
            answer = {"ok": True, "output": later(given, lambda s: self.wait(s, deadline - RESERVE))}
        except ToolError as e:
            error = {"code": e.code, "message": e.message, "retryable": e.code in RETRYABLE, "details": e.details}
            answer = {"ok": False, "error": error}
        except Exception:  # the caller learns nothing of a defect but that there is one
            error = {"code": "INTERNAL", "message": "the tool failed", "retryable": False, "details": {}}
            answer = {"ok": False, "error": error}
        ids = {name: meta[name] if isinstance(meta.get(name), str) else "" for name in ("trace_id", "tool_run_id")}
        answer["meta"] = {**ids, "duration_ms": max(int((time.time() - began) * 1000), 0)}
        print("run code=%s" % answer.get("error", {}).get("code", ""), file=sys.stderr, flush=True)
        self.answer(200, answer)

    def body(self):
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Origin"):  # no page in a browser has tools run
            self.close_connection = True
            raise ToolError("VALIDATION_ERROR", "the worker does not answer to browsers")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            raise ToolError("VALIDATION_ERROR", "the body is too large, or its length is not known")
        return self.rfile.read(int(length))

    def wait(self, seconds, deadline):
        """Sleeps, but not beyond the deadline, nor for a caller who is gone."""
        end, watched = time.time() + seconds, [self.connection]
        while (left := min(end, deadline) - time.time()) > 0:
            if select.select(watched, [], [], min(left, 3600))[0]:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise ToolError("CANCELLED", "the caller is gone")
                watched = []  # it sends the next request already
        if deadline < end:
            raise ToolError("TIMEOUT", "the deadline of the call passed")

    def answer(self, status, what, headers=None):
        text = json.dumps(what).encode()
        try:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


def main():
    host, _, port = os.environ.get("LISTEN", "127.0.0.1:8080").rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print("Serving on http://%s:%d" % (host, server.server_port), file=sys.stderr, flush=True)
    server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
