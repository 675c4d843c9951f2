# mypy: disable-error-code="import-not-found"
"""Calls a page with the generated client, and prints what it makes of the answers."""

import json
import sys
from typing import Any

import generated.models as models
from generated import AuthenticatedClient, Client
from generated.api.commands import send_order_command
from generated.api.read_side import explain_command, get_history, get_state, get_trace
from generated.api.views import read_dead_letter, read_outcome

[_, url, token, flow, late] = sys.argv
anybody = Client(url)
trusted = AuthenticatedClient(url, token)


def send(client: Any) -> Any:
    payload = models.OrderCommandCancelOrder(type_="CancelOrder")
    command = models.OrderCommand(aggregate_id="o-9", expected_version=0, payload=payload)
    return send_order_command.sync(client=client, body=command)


state = get_state.sync(aggregate="order", id="o-1", client=anybody)
missing = get_state.sync(aggregate="order", id="nobody", client=anybody)
history = get_history.sync(aggregate="invoice", id="inv-1", client=anybody)
[paid, _] = get_trace.sync(flow, client=anybody).commands
[explained] = explain_command.sync(late, client=anybody).records
rows = read_outcome.sync(client=anybody, aggregate_id="o-1", duplicate=False, field_limit=1).rows
again = read_outcome.sync(client=anybody, decided_at=rows[0].decided_at, offset=rows[0].offset)
json.dump(
    {
        "state": [type(state).__name__, state.state.quantity, state.life_cycle],
        "missing": [type(missing).__name__, missing.status, missing.title],
        "history": [type(one.payload).__name__ for one in history.commands[0].events],
        "trace": paid.events[0].asked[0].policy,
        "why": [explained.response.reason, explained.winners[0].command_id],
        "rows": [len(rows), rows[0].command_type],
        "again": [one.command_id for one in again.rows] == [rows[0].command_id],
        "letters": [
            type(read_dead_letter.sync(client=AuthenticatedClient(url, "wrong"))).__name__,
            type(read_dead_letter.sync(client=trusted)).__name__,
        ],
        "sent": [send(AuthenticatedClient(url, "wrong")).status, send(trusted).status],
    },
    sys.stdout,
)
