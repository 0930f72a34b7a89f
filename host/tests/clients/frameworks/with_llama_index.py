"""LlamaIndex: the MCP client and the tool specification of llama-index-tools-mcp."""

import checks
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


class LlamaIndex:
    def __init__(self, server):
        if server.url:
            self.client = BasicMCPClient(server.url, headers=server.headers)
        else:
            self.client = BasicMCPClient(server.command, args=server.args)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def tools(self):
        return [tool.metadata.name for tool in await McpToolSpec(self.client).to_tool_list_async()]

    async def call(self, name):
        [tool] = await McpToolSpec(self.client, allowed_tools=[name]).to_tool_list_async()
        return str(await tool.acall())

    async def resources(self):
        return [str(entry.uri) for entry in (await self.client.list_resources()).resources]

    async def read(self, uri):
        [content] = (await self.client.read_resource(uri)).contents
        return content.text

    async def prompts(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def prompt(self, name):
        return str(await self.client.get_prompt(name))


checks.run("LlamaIndex", LlamaIndex)
