def _schema(name, about, **properties):
    parameters = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {"name": name, "description": about, "parameters": parameters}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
ALL = [
    _schema("harbour_grep", "Find words in the log.", text=_TEXT),
    _schema("harbour_describe", "What a summary covers.", summary=_NUMBER),
    _schema("harbour_expand", "The messages that a summary replaced.", summary=_NUMBER),
    _schema("harbour_recent", "The newest messages.", count=_NUMBER),
    _schema("harbour_status", "Counts."),
    _schema("harbour_doctor", "Whether the log is sound."),
]
