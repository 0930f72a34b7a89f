"""OpenAI Agents SDK: its MCP servers and, for both together, an agent."""

from contextlib import AsyncExitStack

import checks
from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

TIMEOUT = checks.REQUEST_TIMEOUT_SECONDS


def mcp_server(server):
    if server.url:
        params = {"url": server.url, "headers": server.headers, "timeout": TIMEOUT}
        return MCPServerStreamableHttp(params, client_session_timeout_seconds=TIMEOUT)
    params = {"command": server.command, "args": server.args}
    return MCPServerStdio(params, client_session_timeout_seconds=TIMEOUT)


class OpenAiAgents:
    def __init__(self, server):
        self.server = mcp_server(server)

    async def __aenter__(self):
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.server.__aexit__(*error)

    async def tools(self):
        return [tool.name for tool in await self.server.list_tools()]

    async def call(self, name):
        return str(await self.server.call_tool(name, {}))

    async def resources(self):
        return [str(entry.uri) for entry in (await self.server.list_resources()).resources]

    async def read(self, uri):
        [content] = (await self.server.read_resource(uri)).contents
        return content.text

    async def prompts(self):
        return [prompt.name for prompt in (await self.server.list_prompts()).prompts]

    async def prompt(self, name):
        return str(await self.server.get_prompt(name))

    @staticmethod
    async def tools_of_all(servers):
        async with AsyncExitStack() as stack:
            mcp_servers = [await stack.enter_async_context(mcp_server(server)) for server in servers]
            agent = Agent("reader", mcp_servers=mcp_servers)
            return [tool.name for tool in await agent.get_mcp_tools(RunContextWrapper(None))]


checks.run("OpenAI Agents SDK", OpenAiAgents)
