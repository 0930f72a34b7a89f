"""Exports the test provider, which is defined in another module."""

from trial import Trial

from larder_provider import export

export(Trial)
