"""The log and the metrics show an operator that a summary model hangs; the clients get their answers anyway."""

import logging
from pathlib import Path

import pytest
from clients import OpenAIClient, converse, http, model
from gateway_server import RunningGateway, settings_for

from plimsoll.agent.engine_host import STALLED
from plimsoll.gateway.telemetry.request_log import REQUESTS, TextLines
from plimsoll.testing.scripted_server import ScriptedServer, fault

WINDOW = 8_000


def test_a_summary_model_that_hangs_is_in_the_log_and_in_the_metrics(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, REQUESTS)
    with (
        ScriptedServer(model, window=WINDOW) as server,
        ScriptedServer(lambda _request: fault("hang")) as writer,
    ):
        small = {"model": "small", "provider": "custom", "base_url": writer.openai_url, "idle_timeout": 0.1}
        settings = settings_for(
            server,
            "openai",
            model={"context_length": WINDOW},
            compression={"protect_last_n": 4, "background": False},
            auxiliary={"compression": small},
        )
        with RunningGateway(settings, tmp_path) as gateway:
            converse(OpenAIClient(gateway.url), 24)
            metrics = http().get(gateway.url + "/metrics").text
    compacting = [
        record for record in caplog.records if record.name == REQUESTS and "compactions" in record.fields
    ]
    assert compacting
    for record in compacting:
        assert [event["summary_model_failed"] for event in record.fields["compactions"]] == [True]
        assert TextLines().format(record).endswith("summary_model=failed")
    assert f"plimsoll_summary_failures_total {len(compacting)}.0" in metrics
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [STALLED], "once per conversation"
