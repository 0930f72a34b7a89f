module larder.dev/provider

go 1.27
