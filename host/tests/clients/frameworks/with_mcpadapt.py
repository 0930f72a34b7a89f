"""mcpadapt: the functions that an adapter for any framework gets."""

import checks
from mcp import StdioServerParameters
from mcpadapt.core import MCPAdapt, ToolAdapter

# mcpadapt ignores integers.
TIMEOUT = float(checks.REQUEST_TIMEOUT_SECONDS)


class Adapter(ToolAdapter):
    def adapt(self, func, mcp_tool):
        raise NotImplementedError

    def async_adapt(self, afunc, mcp_tool):
        # The adapters for smolagents and others read it for each tool, also for those without arguments.
        assert isinstance(mcp_tool.inputSchema["properties"], dict)
        return mcp_tool.name, afunc


def parameters(server):
    if server.url:
        return {"transport": "streamable-http", "url": server.url, "headers": server.headers}
    return StdioServerParameters(command=server.command, args=server.args)


class McpAdapt:
    def __init__(self, server):
        self.adapt = MCPAdapt(parameters(server), Adapter(), client_session_timeout_seconds=TIMEOUT)

    async def __aenter__(self):
        self.functions = dict(await self.adapt.__aenter__())
        return self

    async def __aexit__(self, *error):
        await self.adapt.__aexit__(*error)

    async def tools(self):
        return list(self.functions)

    async def call(self, name):
        return str(await self.functions[name]({}))

    @staticmethod
    async def tools_of_all(servers):
        every = [parameters(server) for server in servers]
        async with MCPAdapt(every, Adapter(), client_session_timeout_seconds=TIMEOUT) as functions:
            return [name for name, _ in functions]


checks.run("mcpadapt", McpAdapt)
