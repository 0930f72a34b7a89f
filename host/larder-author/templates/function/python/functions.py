"""Example functions, which are tools. Replace them, and describe yours in `wit/world.wit`."""

GREETINGS = {"en": "Hello", "de": "Hallo", "fr": "Bonjour"}


def greet(name, language=None):
    greeting = GREETINGS.get(language or "en")
    if greeting is None:
        raise ValueError(f"there is no greeting in `{language}`; use {', '.join(GREETINGS)}")
    return f"{greeting}, {name}!"


def describe(numbers):
    """Returns how many numbers there are, and their mean."""
    if not numbers:
        raise ValueError("there are no numbers")
    return len(numbers), sum(numbers) / len(numbers)
