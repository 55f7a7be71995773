"""Every recipe of docs/recipes.md is run by a test."""

from cases import CASES
from recipes import GATEWAY, read_recipes
from test_litellm_proxy import BEHIND, FRONT


def test_every_recipe_is_run_and_leads_to_the_gateway() -> None:
    recipes = read_recipes()
    assert set(recipes) == {case.recipe for case in CASES if case.recipe} | {FRONT, BEHIND}
    for name, recipe in recipes.items():
        told = [*recipe.files.values(), *recipe.environment.values(), *recipe.code]
        assert name == BEHIND or any(GATEWAY in text for text in told), name
        assert name != BEHIND or recipe.commands == [["plimsoll", "gateway"]]
