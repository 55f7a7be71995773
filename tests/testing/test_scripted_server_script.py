"""Scripts, what the server remembers, and how it starts and ends."""

import socket
import threading

import httpx
import pytest
from scripted_clients import ANTHROPIC_TOOL, DIALECTS, GPT, HI, OPENAI_TOOL, error_of, plain_client, post

from plimsoll.dialects import Reply
from plimsoll.messages import text_of
from plimsoll.testing.scripted_server import ScriptedServer, call, call_text, fault, say

BOTH = pytest.mark.parametrize("dialect", DIALECTS)


def said(response):
    body = response.json()
    return body["choices"][0]["message"]["content"] if "choices" in body else body["content"][0]["text"]


@BOTH
def test_without_a_script_the_newest_message_comes_back(dialect):
    with ScriptedServer() as server:
        assert said(post(server, dialect)) == "You said: hi"


def test_the_default_script_knows_a_tool_result():
    asked = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    messages = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    with ScriptedServer() as server:
        assert said(post(server, "openai", messages=messages)) == "The tool returned: 42"


@BOTH
def test_a_list_is_used_up_in_order_and_says_so_at_its_end(dialect):
    with ScriptedServer([say("one"), "two"]) as server:
        assert [said(post(server, dialect)) for _ in range(2)] == ["one", "two"]
        over = post(server, dialect)
        assert over.status_code == 400
        assert error_of(over)["message"].startswith(
            "The script is used up: this is request 3, and 2 were answered."
        )
        server.extend(say("three"))
        assert said(post(server, dialect)) == "three"


@BOTH
def test_a_function_answers_from_what_it_really_received(dialect):
    tool = ANTHROPIC_TOOL if dialect == "anthropic" else OPENAI_TOOL

    def answer(request):
        names = [tool["function"]["name"] for tool in request.tools]
        return say(f"{text_of(request.messages[-1])} with {names}")

    with ScriptedServer(answer) as server:
        assert said(post(server, dialect, tools=[tool])) == "hi with ['terminal']"


def test_a_function_may_stand_in_a_list_and_may_return_a_fault():
    with ScriptedServer([lambda request: fault(503), lambda request: "fine"]) as server:
        assert post(server, "openai").status_code == 503
        assert said(post(server, "openai")) == "fine"


def test_what_is_injected_comes_before_everything_else():
    with ScriptedServer([say("later")]) as server:
        server.inject(fault(500), say("first"))
        assert post(server, "openai").status_code == 500
        assert [said(post(server, "openai")) for _ in range(2)] == ["first", "later"]


def test_items_that_are_added_before_a_function_come_first():
    with ScriptedServer(lambda request: say("computed")) as server:
        server.extend(say("listed"))
        assert [said(post(server, "openai")) for _ in range(2)] == ["listed", "computed"]


def test_a_function_that_fails_is_reported_to_whoever_waits_for_the_answer():
    def broken(request):
        raise KeyError("no such thing")

    with ScriptedServer([broken, lambda request: None]) as server:
        message = error_of(post(server, "openai"))["message"]
        assert message == "The script's function raised KeyError: 'no such thing'"
        assert "None is not an answer" in error_of(post(server, "openai"))["message"]


def test_an_item_that_is_no_answer_is_an_error_where_it_is_written():
    with pytest.raises(TypeError, match=r"42 is not an answer; use say\(\.\.\.\)"):
        ScriptedServer([42])


@BOTH
def test_a_whole_reply_may_be_scripted(dialect):
    reply = Reply({"role": "assistant", "content": "as it is"}, "length", id="mine", model="other")
    with ScriptedServer([reply]) as server:
        body = post(server, dialect).json()
    assert (body["id"], body["model"]) == ("mine", "other")


def test_broken_arguments_reach_the_client_as_they_are():
    with ScriptedServer([call_text("terminal", '{"command": ')]) as server:
        message = post(server, "openai").json()["choices"][0]["message"]
        assert message["tool_calls"][0]["function"]["arguments"] == '{"command": '


def test_no_two_ids_are_the_same():
    with ScriptedServer([call("a") + call("b"), call("c")]) as server:
        first, second = post(server, "openai").json(), post(server, "openai").json()
        calls = first["choices"][0]["message"]["tool_calls"] + second["choices"][0]["message"]["tool_calls"]
        assert len({item["id"] for item in calls} | {first["id"], second["id"]}) == 5


@BOTH
def test_a_request_is_remembered_with_everything_that_is_known_of_it(dialect):
    with ScriptedServer([say("ok")]) as server:
        post(server, dialect, headers={"x-own": "1"})
        [seen] = server.requests
        assert server.wait_until(lambda: seen.is_done)
        assert (seen.dialect, seen.status, seen.fault, seen.is_abandoned) == (dialect, 200, None, False)
        assert seen.headers["x-own"] == "1"
        assert seen.body["messages"] == HI == list(seen.request.messages)
        assert seen.raw.startswith(b"{")
        assert seen.bill.prompt_tokens == seen.usage.prompt_tokens > 0
        assert seen.reply.message["content"] == "ok"
        assert seen.time <= server.clock.now()


def test_a_connection_serves_many_requests():
    with ScriptedServer() as server, plain_client() as client:
        for _ in range(20):
            assert client.post(
                server.openai_url + "/chat/completions", json={"model": GPT, "messages": HI}
            ).is_success
        assert len(server.requests) == 20


def test_many_clients_are_served_at_once():
    together = threading.Barrier(8, timeout=60)

    def wait(request):
        together.wait()
        return say("together")

    with ScriptedServer(wait) as server:
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(said(post(server, "openai")))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["together"] * 8


def test_several_servers_run_beside_each_other():
    with ScriptedServer([say("a")]) as one, ScriptedServer([say("b")]) as two:
        assert one.url != two.url
        assert (said(post(one, "openai")), said(post(two, "anthropic"))) == ("a", "b")


def test_it_stops_while_requests_hang_and_functions_wait():
    never = threading.Event()

    def wait(request):
        never.wait()
        return say("never")

    outcomes = []

    def ask(server):
        try:
            post(server, "openai")
        except httpx.HTTPError as error:
            outcomes.append(error)

    with ScriptedServer([fault("hang"), wait, fault("slow", seconds=60)]) as server:
        threads = [threading.Thread(target=ask, args=(server,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert server.wait_until(lambda: len(server.requests) == 3)
        running = server._thread
    assert not running.is_alive()
    for thread in threads:
        thread.join()
    never.set()
    assert len(outcomes) == 3
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])), timeout=1)
    server.stop()


def test_a_server_that_is_not_running_has_no_address():
    with pytest.raises(RuntimeError, match="not running"):
        _ = ScriptedServer().url


def test_a_client_that_does_not_speak_http_gets_an_error():
    with ScriptedServer() as server:
        port = int(server.url.rsplit(":", 1)[1])
        for noise in (
            b"hello\r\n\r\n",
            b"GET /v1/models HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
            b"half a li",
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
                plain.sendall(noise)
                plain.shutdown(socket.SHUT_WR)
                assert plain.recv(100).startswith(b"HTTP/1.1 400 ")
        assert said(post(server, "openai")) == "You said: hi"


def test_a_chunked_body_is_read_and_limited():
    def pieces(text):
        yield b'{"model": "gpt-4o", "messages": [{"role": "user", '
        yield b'"content": "' + text + b'"}]}'

    with ScriptedServer(max_bytes=1000) as server, plain_client() as client:
        url = server.openai_url + "/chat/completions"
        assert said(client.post(url, content=pieces(b"in pieces"))) == "You said: in pieces"
        assert client.post(url, content=pieces(b"x" * 2000)).status_code == 413


def test_a_connection_is_closed_when_the_client_asks_for_that():
    with ScriptedServer() as server:
        port = int(server.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
            plain.sendall(b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
            data = b""
            while chunk := plain.recv(1000):
                data += chunk
        assert data.endswith(b"]}")


def test_a_client_may_ask_whether_to_continue():
    body = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}'
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with ScriptedServer() as server:
        port = int(server.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
            plain.sendall(head.encode())
            assert plain.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            plain.sendall(body)
            assert plain.recv(100).startswith(b"HTTP/1.1 200 OK")
