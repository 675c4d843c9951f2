from random import Random

from tests.e2e.plan import Kind, plan


def test_the_plan_of_a_campaign_comes_from_its_seed_alone() -> None:
    assert plan(Random(7), 40) == plan(Random(7), 40)
    assert plan(Random(7), 40)[:10] == plan(Random(7), 10)
    assert plan(Random(7), 40) != plan(Random(8), 40)


def test_a_plan_of_some_length_has_every_kind_of_misfortune() -> None:
    assert {what.kind for what in plan(Random(1), 100)} == set(Kind)
