"""The base class of every settings section.

    class ToolSettings(Section):
        timeout: float = Field(default=120.0, gt=0, description="…")

A section is closed (an unknown key is an error), frozen, and strict (the text "0.5" is not
the number 0.5). What its fields say about themselves is all that messages, `plimsoll config`
and the documentation know; beside pydantic's own words these stand in `json_schema_extra`:

    allowed    the range in words, where types and limits do not say it
    names      what the keys of a map are called: `<server>` in a path
    private    true where the values of a map are never shown
    example    what stands in the example file where the default would not be valid
"""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A group of settings: closed, frozen, strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
