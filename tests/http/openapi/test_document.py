"""U-04: `/openapi.json` is true of what is answered, whatever is asked."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
from starlette.testclient import TestClient

from commands.order import DeleteOrder
from compose.application import app
from tests.application import APPLICATION
from tests.http.conftest import BEARER, TOKEN, Opened, Page
from tests.http.filled import FLOW, LATE, ODD, PLACE, fill
from verdict import Application
from verdict.http.application import FAILED, page_of
from verdict.http.openapi import described
from verdict.settings.load import settings_alone
from verdict.testing import InMemory
from verdict.wire.json import readable

SCHEMAS = "#/components/schemas/"
REFERRED = re.compile(rf'"{SCHEMAS}([^"]+)"')
NAMES_OF_GENERATORS = {"Response", "Client", "Unset", "Error", "Any", "HTTPStatus", "Request"}
READ = [
    ("/state/{aggregate}/{id}", f"/state/order/{quote(ODD, safe='')}"),
    ("/state/{aggregate}/{id}", "/state/order/o-1?at_version=0"),
    ("/state/{aggregate}/{id}", "/state/order/gone"),
    ("/state/{aggregate}/{id}", "/state/invoice/inv-1"),
    ("/state/{aggregate}/{id}", "/state/loyalty/card-1"),
    ("/history/{aggregate}/{id}", "/history/order/o-1"),
    ("/history/{aggregate}/{id}", "/history/order/never"),
    ("/history/{aggregate}/{id}", "/history/invoice/inv-1?_limit=1"),
    ("/trace/{correlation_id}", f"/trace/{FLOW}"),
    ("/explain/{command_id}", f"/explain/{LATE}"),
    ("/explain/{command_id}", "/explain/nothing"),
    ("/livez", "/livez"),
    ("/readyz", "/readyz"),
    ("/status", "/status"),
]
HOSTILE = ("\x00", "\ud800", "9" * 400, "-1", "0001-01-01T00:00:00+14:00", "'\"\\%")
WRONG = [
    ("/nowhere", 404), ("/state/order/nobody", 404), ("/read/nothing", 404),
    ("/read/dead_letter", 401),
    ("/state/order/o-1?at_version=x", 422), ("/read/outcome?nope=1", 400),
    ("/feed/us_holder", 404), ("/read/outcome?_limit=0", 422),
]  # fmt: skip


def operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in document["paths"].items():
        yield from ((path, method, operation) for method, operation in methods.items())


def closed(part: Any) -> Any:
    """Return schemas that allow no members but those that they describe."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: closed(one) for name, one in part.items()}
    return {"additionalProperties": False} | found if "properties" in found else found


def differences(document: Any, schema: Any, value: Any) -> list[str]:
    """Return what a value has that its schema does not allow or describe."""
    whole = closed(deepcopy(schema)) | {"components": closed(document["components"])}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(value)]


def answered(document: Any, path: str, answer: Any, method: str = "get") -> list[str]:
    """Return where an answer differs from what the document says of it."""
    described = document["paths"][path][method]["responses"][str(answer.status_code)]["content"]
    schema = described[answer.headers["content-type"].partition(";")[0]]["schema"]
    return differences(document, schema, answer.json())


def test_every_name_is_one_that_generators_can_take(shown: TestClient, document: Any) -> None:
    named = [operation["operationId"] for _, _, operation in operations(document)]
    schemas = document["components"]["schemas"]
    referred = {*REFERRED.findall(json.dumps(document))}

    assert shown.get("/openapi.json").json() == document
    assert document["openapi"].startswith("3.1")
    assert len({*named}) == len(named)
    assert [name for name in named if not re.fullmatch(r"[a-z][a-z0-9_]*", name)] == []
    assert {"get_state", "get_history", "send_order_command", "read_us_holder"} <= {*named}
    assert not {*schemas} & NAMES_OF_GENERATORS
    assert [name for name, one in schemas.items() if isinstance(one.get("title"), str)] == []
    assert all(operation["tags"] for _, _, operation in operations(document))
    assert referred == {*schemas}


def test_it_knows_every_command_event_state_and_error(document: Any) -> None:
    for kind in APPLICATION.aggregate_types:
        aggregate = APPLICATION.aggregate(kind)
        known = {f"{kind}_command.{name}" for name in aggregate.command_types}
        known |= {f"{kind}_event.{name}" for name in aggregate.event_types}
        known |= {f"{kind}_state.{aggregate.state.__name__}", f"{kind}_state", f"{kind}_command"}
        assert known <= document["components"]["schemas"].keys()
        assert f"/commands/{kind}" in document["paths"]
    statuses = {status for _, _, one in operations(document) for status in one["responses"]}
    assert {str(status) for status in FAILED.values()} <= statuses


@pytest.mark.proves("U-04")
@pytest.mark.both_databases
@pytest.mark.parametrize("headers", [{}, BEARER], ids=["anybody", "with_the_token"])
def test_what_is_read_is_what_is_described(
    new_database: Callable[[], str], opened: Opened, document: Any, headers: dict[str, str]
) -> None:
    url = new_database()
    fill(url)
    browser = opened(database_url=url, page_token=TOKEN).browser
    views = [path for path in document["paths"] if path.startswith("/read/")]
    assert len(views) > 20
    asked = {address: path for path, address in READ} | dict(zip(views, views, strict=True))
    answers = {address: browser.get(address, headers=headers) for address in asked}

    letters = {
        "/read/dead_letter",
        "/read/dead_letter_intervention",
        "/read/projection_intervention",
    }
    failed = {address: one.text for address, one in answers.items() if one.status_code != 200}
    assert failed.keys() == (set() if headers else letters)
    found = {address: answered(document, asked[address], one) for address, one in answers.items()}
    assert {address: one for address, one in found.items() if one} == {}


@pytest.mark.both_databases
def test_what_no_database_holds_is_no_bug(
    new_database: Callable[[], str], opened: Opened, document: Any
) -> None:
    url = new_database()
    fill(url)
    browser = opened(database_url=url, page_token=TOKEN).browser
    named = ["/state/order/", "/history/order/", "/trace/", "/explain/", "/read/", "/feed/"]
    named += ["/outcome/", "/subjects/", "/schemas/ids/"]
    for view in ("outcome", "client_overview"):
        columns = document["paths"][f"/read/{view}"]["get"]["parameters"]
        named += [f"/read/{view}?{one['name']}=" for one in columns]

    for text in HOSTILE:
        id = quote(text.encode(errors="surrogatepass"), safe="")
        asked = [f"{one}{id}?for_s=0" if one == "/outcome/" else f"{one}{id}" for one in named]
        found = {path: browser.get(path, headers=BEARER) for path in asked}
        assert {path: one.text for path, one in found.items() if one.status_code >= 500} == {}


def test_the_description_is_not_true_of_everything(shown: TestClient, document: Any) -> None:
    """Else the test above would prove nothing."""
    for path, address in READ[:10]:
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        told = shown.get(address).json()
        assert differences(document, schema["schema"], told | {"more": 1})
        for name in told:
            assert differences(document, schema["schema"], told | {name: {"no": "such"}})


@pytest.mark.proves("U-04")
def test_a_command_is_answered_with_what_is_described(document: Any) -> None:
    with InMemory(app) as memory:
        outcomes = [memory.send("o-1", PLACE, expected) for expected in (0, 7)]
        outcomes += [memory.send("o-2", DeleteOrder(), "EXISTS"), memory.send("o-1", PLACE, "ANY")]
    post = document["paths"]["/commands/order"]["post"]
    for status in ("200", "201", "404", "409", "410", "413", "422", "500"):
        schema = post["responses"][status]["content"]["application/json"]["schema"]
        assert [differences(document, schema, readable(one)) for one in outcomes] == [[]] * 4
    assert post["security"] == [{"page_token": []}]
    assert document["components"]["securitySchemes"]["page_token"]["scheme"] == "bearer"


def test_a_command_that_can_be_sent_is_described(document: Any) -> None:
    schema = {"$ref": f"{SCHEMAS}order_command"}
    payload = {"type": "ModifyOrder", "quantity": 5}
    sent = {"aggregate_id": "o-1", "expected_version": 1, "payload": payload}

    assert differences(document, schema, sent) == []
    assert differences(document, schema, sent | {"expected_version": "EXISTS"}) == []
    for wrong in (
        {"expected_version": -1},
        {"payload": payload | {"quantity": 0}},
        {"payload": payload | {"type": "OpenPosition"}},
        {"payload": {"quantity": 5}},
        {"unknown": 1},
        {"aggregate_id": ""},
    ):
        assert differences(document, schema, sent | wrong)


@pytest.mark.proves("U-04")
def test_every_error_is_a_problem(shown: TestClient, document: Any) -> None:
    token = shown.post("/commands/order", json={})
    wait = shown.post("/commands/order?wait_s=x", json={}, headers=BEARER)
    answers = [
        (token, 401),
        (wait, 422),
        (shown.post("/commands/order", json={}, headers=BEARER), 422),
        (shown.delete("/livez"), 405),
        (shown.get("/livez", headers={"host": "evil.example"}), 421),
        (shown.get("/livez", headers={"sec-fetch-site": "cross-site"}), 403),
        *((shown.get(address), status) for address, status in WRONG),
    ]

    for answer, status in answers:
        told = answer.json()
        assert (answer.status_code, told["status"]) == (status, status)
        assert answer.headers["content-type"] == "application/problem+json"
        assert differences(document, {"$ref": f"{SCHEMAS}ProblemDetails"}, told) == []
        assert told["title"]
        assert told["detail"]
    assert token.headers["www-authenticate"] == "Bearer"
    assert [one["loc"] for one in wait.json()["errors"]] == [["query", "wait_s"]]


def test_a_bug_is_a_problem_without_its_details(page: Page) -> None:
    def look() -> Any:
        raise ZeroDivisionError("a secret")

    page.looked.look = look
    answer = page.browser.get("/status")
    assert (answer.status_code, answer.json()["status"]) == (500, 500)
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text


def test_an_application_of_nothing_is_described_too() -> None:
    nothing = Application(name="none", aggregates=(), schemas="schemas", namespace="none")
    settings = settings_alone(nothing)
    document = described(page_of(settings), settings)

    assert "/state/{aggregate}/{id}" in document["paths"]
    assert {*REFERRED.findall(json.dumps(document))} <= document["components"]["schemas"].keys()
    assert '"enum": []' not in json.dumps(document)


def test_no_parameter_is_null(document: Any) -> None:
    """An optional one is left out: the text `null` is refused."""
    every = (
        parameter
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
    )
    assert [one["name"] for one in every if "null" in str(one["schema"])] == []
