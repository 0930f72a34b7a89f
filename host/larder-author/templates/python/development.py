"""For `larder dev` only: the main module of a component that loads app.py when a guest starts."""

from larder_provider.development import load_at_start

load_at_start("app")
