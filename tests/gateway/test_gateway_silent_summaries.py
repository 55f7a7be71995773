"""A summary model that hangs holds up no client of the gateway's drop-in endpoints."""

from pathlib import Path

from clients import AnthropicClient, converse, model, same_without_gateway
from gateway_server import RunningGateway, settings_for

from plimsoll.testing.scripted_server import ScriptedServer, fault

WINDOW = 8_000


def test_a_client_is_answered_while_the_summary_model_hangs(tmp_path: Path) -> None:
    with (
        ScriptedServer([fault("hang", times=None)]) as silent,
        ScriptedServer(model, window=WINDOW) as server,
    ):
        writer = {
            "compression": {
                "model": "small",
                "provider": "custom",
                "base_url": silent.openai_url,
                "idle_timeout": 0.1,
            }
        }
        compression = {"protect_last_n": 4, "background": False}
        settings = settings_for(
            server, model={"context_length": WINDOW}, compression=compression, auxiliary=writer
        )
        with RunningGateway(settings, tmp_path) as gateway:
            client = AnthropicClient(gateway.url)
            answers = converse(client, 24)
            assert client.last is not None
            assert client.last.headers["x-plimsoll-view"] == "compacted"
        assert silent.requests, "the summary model was asked"
    assert answers == same_without_gateway(AnthropicClient, 24)
