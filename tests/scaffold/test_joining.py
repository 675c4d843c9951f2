"""A new part gets into an application that is written as most are, and into no other by guess."""

import ast

import pytest

from verdict.scaffold.joining import bound, joined

EMPTY = """\
from verdict import Application

app = Application(
    name="shop",
    aggregates=(),
)
"""


def with_parcel(source: str) -> str | None:
    return joined(source, "app", "aggregates", "shop.aggregates.parcel", "parcel")


def members(source: str) -> list[str]:
    """Return the aggregates that a module lists, read by other means than it was written."""
    [call] = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    [listed] = [one.value for one in call.keywords if one.arg == "aggregates"]
    assert isinstance(listed, ast.Tuple | ast.List)
    return [ast.unparse(one) for one in listed.elts]


def test_the_first_one_stands_on_a_line_of_its_own() -> None:
    assert with_parcel(EMPTY) == """\
from verdict import Application

from shop.aggregates.parcel import parcel

app = Application(
    name="shop",
    aggregates=(
        parcel,
    ),
)
"""  # fmt: skip


@pytest.mark.parametrize(
    "listed",
    [
        "()",
        "[]",
        "(box,)",
        "(box)",
        "(box, crate)",
        "[box]",
        "(\n        box,\n    )",
        "(\n        box,  # Schachtel für Größe\n        crate,  # 木箱\n    )",
    ],
)
def test_it_comes_behind_those_that_are_there(listed: str) -> None:
    source = EMPTY.replace("()", listed).replace("name=", "title='ü', name=")
    before = members(source) if listed != "(box)" else []

    changed = with_parcel(source)

    if listed == "(box)":  # no tuple
        assert changed is None
        return
    assert changed is not None
    assert members(changed) == [*before, "parcel"]
    assert [line for line in source.splitlines() if "#" in line] == [
        line for line in changed.splitlines() if "#" in line
    ]
    assert bound(changed) == bound(source) | {"parcel"}


@pytest.mark.parametrize(
    "source",
    [
        EMPTY.replace("aggregates=()", "aggregates=all_of_them()"),
        EMPTY.replace("aggregates=()", "aggregates=(\n        # none yet\n    )"),
        EMPTY.replace("aggregates=()", "aggregates=(box, crate  # the last\n    )"),
        EMPTY.replace("aggregates=()", "aggregates=(\n        box,\n        crate)"),
        EMPTY.replace("aggregates=()", "read_models=()"),
        EMPTY.replace("app =", "application ="),
        EMPTY.replace("app =", "app, other ="),
        EMPTY.replace("Application(", "Application(**made(").replace("\n)", "\n))"),
        'app = __import__("verdict").Application(aggregates=())',
    ],
)
def test_what_is_written_in_another_way_is_left_alone(source: str) -> None:
    ast.parse(source)

    assert with_parcel(source) is None


def test_an_import_stands_in_the_order_of_the_alphabet() -> None:
    between = EMPTY.replace(
        "\n\n",
        "\n\nfrom shop.aggregates.box import box\nfrom shop.compose.settings import Settings\n\n",
        1,
    )
    last = EMPTY.replace("\n\n", "\n\nfrom shop.aggregates.box import (\n    box,\n)\n\n", 1)

    assert "import box\nfrom shop.aggregates.parcel import parcel\nfrom shop.compose" in str(
        with_parcel(between)
    )
    assert ")\nfrom shop.aggregates.parcel import parcel\n\napp" in str(with_parcel(last))


def test_at_the_root_of_a_checkout_all_folders_are_the_application_s() -> None:
    source = """\
from aggregates.order import order
from compose.settings import Settings
from verdict import Application

app = Application(aggregates=(order,))
"""
    changed = joined(source, "app", "aggregates", "aggregates.parcel", "parcel")

    assert changed == source.replace(
        "import order\n", "import order\nfrom aggregates.parcel import parcel\n"
    ).replace("(order,)", "(order, parcel)")
