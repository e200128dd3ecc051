"""Hands connections on: a way out of a Mininet host's network, by the file system that it shares.

    relay.py FROM TO

Each is HOST:PORT or the path of a Unix socket. It listens at FROM, prints a line
when it does, and connects each connection to TO.
"""
import asyncio
import sys


def listen(where, accepted):
    host, colon, port = where.rpartition(":")
    return asyncio.start_server(accepted, host, int(port)) if colon else asyncio.start_unix_server(accepted, where)


def connect(where):
    host, colon, port = where.rpartition(":")
    return asyncio.open_connection(host, int(port)) if colon else asyncio.open_unix_connection(where)


async def copy(source, sink):
    try:
        while data := await source.read(1 << 16):
            sink.write(data)
            await sink.drain()
    except OSError:
        pass  # it has ended, at either side
    finally:
        sink.close()


async def main(origin, target):
    async def accepted(reader, writer):
        try:
            other_reader, other_writer = await connect(target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))

    server = await listen(origin, accepted)
    print("listening", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
