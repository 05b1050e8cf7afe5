"""Usage: talk.py legacy|auto|2026-07-28 URL, or a PROGRAM [ARGUMENT…]

Goes to a server, or starts it, with the library for clients, and does what its input says, in the
manner of ../clients/talk.mjs.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


def say(what, value):
    print(json.dumps({what: value}), flush=True)


async def answer(work):
    try:
        result = await work
        say("result", result.model_dump(mode="json", by_alias=True, exclude_none=True))
    except asyncio.CancelledError:
        say("error", "cancelled")
    except Exception as e:
        say("error", repr(e))


async def progress(done, total, message):
    say("progress", done)


async def obey(client):
    asked, calling = set(), None
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        if order.get("cancel"):
            calling.cancel()
        if order.get("list"):
            asked.add(asyncio.create_task(answer(client.list_tools())))
        if call := order.get("call"):
            calling = asyncio.create_task(answer(client.call_tool(call["name"], call["arguments"], progress_callback=progress)))
            asked.add(calling)
    for task in asked:
        task.cancel()


async def main(era, target, *arguments):
    server = target if target.startswith("http") else StdioServerParameters(command=target, args=arguments)
    async with Client(server, mode=era, read_timeout_seconds=600) as client:
        say("open", True)
        await obey(client)


asyncio.run(main(*sys.argv[1:]))
