"""pydantic-ai: its MCP toolset and, for both servers together, an agent with its test model, which calls the tool."""

import checks
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel


def toolset(server):
    timeout = checks.REQUEST_TIMEOUT_SECONDS
    if server.url:
        return MCPToolset(server.url, headers=server.headers, init_timeout=timeout)
    return MCPToolset(StdioTransport(server.command, server.args), init_timeout=timeout)


class PydanticAi:
    def __init__(self, server):
        self.toolset = toolset(server)

    async def __aenter__(self):
        await self.toolset.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.toolset.__aexit__(*error)

    async def tools(self):
        return [tool.name for tool in await self.toolset.list_tools()]

    async def call(self, name):
        return str(await self.toolset.direct_call_tool(name, {}))

    async def resources(self):
        return [str(entry.uri) for entry in await self.toolset.list_resources()]

    async def read(self, uri):
        return await self.toolset.read_resource(uri)

    async def prompts(self):
        return [prompt.name for prompt in await self.toolset.list_prompts()]

    async def prompt(self, name):
        return str(await self.toolset.get_prompt(name))

    @staticmethod
    async def tools_of_all(servers):
        model = TestModel(call_tools=[checks.TOOL])
        agent = Agent(model, toolsets=[toolset(server) for server in servers])
        checks.assert_contains((await agent.run("call the tool")).output, checks.TOOL_TEXT)
        return [tool.name for tool in model.last_model_request_parameters.function_tools]


checks.run("pydantic-ai", PydanticAi)
