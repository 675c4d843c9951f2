"""A command that was sent several times is shown once, with its repetitions below."""

from collections.abc import Iterable

from verdict.operations.inspect.history import Fields

SHOWN = 10
OUTCOME = ("aggregate_type", "aggregate_id", "command_id", "status", "reason", "to_version")


def fold_repetitions(found: Iterable[Fields]) -> list[tuple[Fields, list[Fields]]]:
    """Return what was found without repetitions, each with the responses to those of it."""
    every = list(found)
    first: dict[tuple[object, ...], list[Fields]] = {}
    for one in every:
        if one["response"] and not one["response"]["duplicate"]:
            first.setdefault(_outcome(one["response"]), [])
    shown = list[tuple[Fields, list[Fields]]]()
    for one in every:
        response = one["response"]
        if response is None:
            shown.append((one, []))
        elif not response["duplicate"]:
            shown.append((one, first[_outcome(response)]))
        elif (repeated := first.get(_outcome(response))) is not None:
            repeated.append(response)
        else:  # the first of them answers a command of another flow, or is nowhere
            shown.append((one, first.setdefault(_outcome(response), [])))
    return shown


def is_repetition(repeated: list[Fields]) -> str:
    """Return in words where repetitions of a command are, each with who sent it."""
    named = [_place(one) for one in repeated[:SHOWN]]
    if (more := len(repeated) - SHOWN) > 0:
        named.append(f"and {more:,} more")
    return ", ".join(named)


def _place(response: Fields) -> str:
    source = response["source"]
    by = f" by {response['actor']}" if response.get("actor") else ""
    return f"{source['topic']}:{source['partition']}:{source['offset']}{by}"


def _outcome(response: Fields) -> tuple[object, ...]:
    return tuple(response[name] for name in OUTCOME)
