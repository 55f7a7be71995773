"""The base class of every settings section.

    class ToolSettings(Section):
        timeout: float = Field(default=120.0, gt=0, description="…")

A section is closed (an unknown key is an error), frozen, and strict (the text "0.5" is not
the number 0.5). Error messages, `plimsoll config` and the documentation are generated from the
fields. Besides pydantic's own attributes they use these keys of `json_schema_extra`:

    allowed    the range in words, if types and limits do not state it
    names      the placeholder for the keys of a map: `<server>` in a path
    private    true if the values of a map are never shown
    example    the value in the example file, if the default would not be valid
"""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A group of settings: closed, frozen, strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
