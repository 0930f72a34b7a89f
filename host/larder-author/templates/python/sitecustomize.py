"""Python imports this module before all others when the component is built. It makes the SDK refuse the network until the
provider is exported: a package that opens a socket when it is imported would make every later connection fail."""

import larder_provider
