module changelog

go 1.27

require larder.dev/provider v0.1.0

replace larder.dev/provider => ./larder-provider
