"""Servers of a given capacity, and clients with a given sequence of requests.

    flows.py serve NAME PORT MBITS
    flows.py ask URL SEED RATE SECONDS

serve answers GET /SIZE with so many bytes. All answers together leave at
MBITS, in small pieces by turns: each connection has an equal part of what the
server can do (processor sharing). A slow server is one with fewer MBITS.

ask sends requests at random times (Poisson, RATE a second) for random sizes
(Pareto, 1.2, from 15 kB to 2 MB, 56 kB on the average), each over a connection
of its own, and waits for all answers. The same seed gives the same times and
sizes. At the end it prints a JSON object: {"flows": [[START, SECONDS, SIZE,
SERVER], ...], "failed": [TEXT, ...]}, START in seconds from the first second.
"""
import asyncio
import json
import random
import sys
import time
import urllib.parse

PIECE = 4096  # bytes
SHAPE, SMALLEST, LARGEST = 1.2, 15_000, 2_000_000
PATIENCE = 60  # seconds for an answer


def mean_size():
    """Of the truncated Pareto distribution, in bytes."""
    ratio = SMALLEST / LARGEST
    return SHAPE / (SHAPE - 1) * SMALLEST * (1 - ratio ** (SHAPE - 1)) / (1 - ratio ** SHAPE)


def size(generator):
    """A random size, by inversion of the distribution."""
    ratio = SMALLEST / LARGEST
    return int(SMALLEST * (1 - generator.random() * (1 - ratio ** SHAPE)) ** (-1 / SHAPE))


class Server:
    """Answers that share a rate."""

    def __init__(self, name, rate):
        self.name, self.rate = name, rate  # bytes per second
        self.answers = []  # [writer, bytes left, done]

    async def serve(self, port):
        server = await asyncio.start_server(self.answer, "", port, backlog=256)
        async with server:
            await asyncio.gather(server.serve_forever(), self.send())

    async def answer(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            count = int(head.split()[1].lstrip(b"/"))
            writer.write(b"HTTP/1.1 200 OK\r\nServer-Name: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (self.name.encode(), count))
            done = asyncio.get_running_loop().create_future()
            self.answers.append([writer, count, done])
            await done
            await writer.drain()
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass  # the client counts what fails
        finally:
            writer.close()

    async def send(self):
        """Send pieces by turns, so many as the rate allows."""
        budget, last = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            now = time.monotonic()
            budget = min(budget + (now - last) * self.rate, self.rate * 0.05)
            last = now
            waiting = 0
            while self.answers and budget >= PIECE and waiting < len(self.answers):
                entry = self.answers.pop(0)
                writer, left, done = entry
                if writer.is_closing() or not left:
                    done.done() or done.set_result(None)
                    continue
                if writer.transport.get_write_buffer_size() > 4 * PIECE:
                    waiting += 1  # the network takes no more of it now
                    self.answers.append(entry)
                    continue
                piece = min(PIECE, left)
                writer.write(bytes(piece))
                budget -= piece
                entry[1] -= piece
                if entry[1]:
                    self.answers.append(entry)
                else:
                    done.set_result(None)


async def request(url, count):
    """Fetch count bytes over a new connection; return who answered."""
    where = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        writer.write(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % count)
        head = await reader.readuntil(b"\r\n\r\n")
        got = 0
        while got < count:
            data = await reader.read(65536)
            if not data:
                raise OSError("%d of %d bytes came" % (got, count))
            got += len(data)
        name = [line for line in head.split(b"\r\n") if line.startswith(b"Server-Name: ")]
        return name[0].split(b": ")[1].decode()
    finally:
        writer.close()


async def ask(url, seed, rate, seconds):
    generator = random.Random(seed)
    flows, failed, tasks = [], [], []

    async def one(start, count):
        begun = time.monotonic()
        try:
            name = await asyncio.wait_for(request(url, count), PATIENCE)
            flows.append([round(start, 3), round(time.monotonic() - begun, 4), count, name])
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as problem:
            failed.append("%s: %s" % (type(problem).__name__, problem))

    begin, at = time.monotonic(), 0.0
    while True:
        at += generator.expovariate(rate)
        count = size(generator)
        if at > seconds:
            break
        await asyncio.sleep(max(0, begin + at - time.monotonic()))
        tasks.append(asyncio.ensure_future(one(at, count)))
    await asyncio.gather(*tasks)
    return {"flows": flows, "failed": failed}


def main(args):
    if len(args) == 4 and args[0] == "serve":
        asyncio.run(Server(args[1], float(args[3]) * 1e6 / 8).serve(int(args[2])))
    elif len(args) == 5 and args[0] == "ask":
        json.dump(asyncio.run(ask(args[1], int(args[2]), float(args[3]), float(args[4]))), sys.stdout)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
