#!/usr/bin/env python3
"""Uploads a file with an independent client of tus.

usage: tus_clients.py CLIENT CREATION_URL FILE HEADER... [--stop-at BYTES | --resume URL]

CLIENT is tuspy or aiotus. With --stop-at, tuspy sends about so many bytes and prints the upload's URL;
with --resume it continues there.
"""

import argparse
import asyncio

CHUNK = 256 * 1024


def with_tuspy(arguments, headers):
    from tusclient.client import TusClient

    client = TusClient(arguments.url, headers=headers)
    uploader = client.uploader(
        file_path=arguments.file, chunk_size=CHUNK, url=arguments.resume, retries=5, retry_delay=1)
    uploader.upload(stop_at=arguments.stop_at)
    print(uploader.url)


async def with_aiotus(arguments, headers):
    import aiohttp
    import aiotus.core
    import aiotus.creation
    import yarl

    # aiotus.upload does the same, but cannot resolve a Location without a host.
    url = yarl.URL(arguments.url)
    async with aiohttp.ClientSession() as session:
        with open(arguments.file, "rb") as file:
            location = url.join(
                await aiotus.creation.create(session, url, file, {}, headers=headers))
            await aiotus.core.upload_buffer(
                session, location, file, chunksize=CHUNK, headers=headers)
    print(location)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=["tuspy", "aiotus"])
    parser.add_argument("url")
    parser.add_argument("file")
    parser.add_argument("header", nargs="*")
    parser.add_argument("--stop-at", type=int)
    parser.add_argument("--resume")
    arguments = parser.parse_args()
    headers = dict(each.split(": ", 1) for each in arguments.header)
    if arguments.client == "tuspy":
        with_tuspy(arguments, headers)
    else:
        asyncio.run(with_aiotus(arguments, headers))


if __name__ == "__main__":
    main()
