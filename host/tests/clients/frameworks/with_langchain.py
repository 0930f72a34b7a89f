"""LangChain: langchain-mcp-adapters."""

import checks
from langchain_mcp_adapters.client import MultiServerMCPClient


def connection(server):
    if server.url:
        return {"transport": "streamable_http", "url": server.url, "headers": server.headers}
    return {"transport": "stdio", "command": server.command, "args": server.args}


class LangChain:
    def __init__(self, server):
        self.client = MultiServerMCPClient({"larder": connection(server)})

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def tools(self):
        return [tool.name for tool in await self.client.get_tools()]

    async def call(self, name):
        [tool] = [tool for tool in await self.client.get_tools() if tool.name == name]
        return str(await tool.ainvoke({}))

    async def resources(self):
        return [str(blob.metadata["uri"]) for blob in await self.client.get_resources()]

    async def read(self, uri):
        [blob] = await self.client.get_resources("larder", uris=uri)
        return blob.as_string()

    async def prompt(self, name):
        return str(await self.client.get_prompt("larder", name))

    @staticmethod
    async def tools_of_all(servers):
        client = MultiServerMCPClient({str(n): connection(server) for n, server in enumerate(servers)})
        return [tool.name for tool in await client.get_tools()]


checks.run("LangChain", LangChain)
