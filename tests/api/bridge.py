"""Connects a TCP port on 127.0.0.1 to a Unix socket, for HTTP clients that can't use Unix sockets.

bridge.py SOCKET prints the port, and serves until it's killed.
"""

import asyncio
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def serve(client_reader, client_writer):
    reader, writer = await asyncio.open_unix_connection(sys.argv[1])
    await asyncio.gather(copy(client_reader, writer), copy(reader, client_writer))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
