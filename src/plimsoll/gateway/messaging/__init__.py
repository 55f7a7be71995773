"""People in: rooms and chats of messaging platforms, each of them one conversation."""
