"""Every tool of heapdump's server, called by the official client: python3 mcp_client.py HEAPDUMP MODE CALLS FILE...

CALLS is a list of [tool, arguments]. Prints one JSON object: how many tools there are, and the structured answers.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters, stdio_client


async def main(program, mode, calls, files):
    server = StdioServerParameters(command=program, args=["mcp", *files])
    async with Client(stdio_client(server), mode=mode) as client:
        tools = (await client.list_tools()).tools
        answers = [(await client.call_tool(tool, arguments)).structured_content for tool, arguments in json.loads(calls)]
        print(json.dumps({"tools": len(tools), "answers": answers}))


asyncio.run(main(*sys.argv[1:4], sys.argv[4:]))
