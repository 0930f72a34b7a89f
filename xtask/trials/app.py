"""What makes a component of the trial, which is in a module of its own."""

from trial import Trial

from larder_provider import export

export(Trial)
