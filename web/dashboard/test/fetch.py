"""Fetches a page again and again over new connections, some of which it keeps for a while: fetch.py URL CONNECTIONS-A-SECOND"""
import http.client
import sys
import time
import urllib.parse


def main():
    where, rate = urllib.parse.urlsplit(sys.argv[1]), float(sys.argv[2])
    kept, due, number = [], time.monotonic(), 0
    while True:
        connection = http.client.HTTPConnection(where.hostname, where.port or 80, timeout=3)
        try:
            connection.request("GET", where.path or "/")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # the page that is looked at shows it
        number += 1
        kept.append(connection)
        if len(kept) > 40:
            kept.pop(0).close()
        due = max(due + 1 / rate, time.monotonic() - 1)
        time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    main()
