"""The metrics add up the requests of all owners, so they are the operator's."""

from pathlib import Path

import pytest
from clients import http
from gateway_keys import add_key, answering, ask
from gateway_server import RunningGateway, settings_for

from plimsoll.archive import OPERATOR, key_owner


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_key_cannot_read_what_all_keys_use(tmp_path: Path, method: str) -> None:
    tenant = add_key(tmp_path, "tenant")
    auditor = add_key(tmp_path, "auditor", reads=key_owner(tenant.split("-")[1]))
    watcher = add_key(tmp_path, "watcher", reads=OPERATOR)
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        ask(gateway.url, key=tenant)
        for path in ("/metrics", "/metric%73"):
            for key, status in ((tenant, 403), (auditor, 403), (watcher, 200), ("", 401)):
                headers = {"x-plimsoll-key": key} if key else {}
                answer = http().request(method, gateway.url + path, headers=headers)
                assert answer.status_code == status, (key, answer.text)
                assert status == 200 or "plimsoll_tokens" not in answer.text


def test_without_keys_this_machine_reads_the_metrics(tmp_path: Path) -> None:
    with answering() as server, RunningGateway(settings_for(server), tmp_path) as gateway:
        assert http().get(gateway.url + "/metrics").status_code == 200
