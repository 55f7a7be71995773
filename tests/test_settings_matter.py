"""Each setting changes something that a person can observe. One test per key."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say
from ports import free_port
from preloaded import run_plimsoll

SCRIPT = str(Path(__file__).parent / "tools" / "mcp_server_script.py")
BASE = ["compress", "--example", "--no-model", "--json"]


def run(home, arguments, config="", **variables):
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(config, "utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**clean, "PLIMSOLL_HOME": str(home), **variables}
    return run_plimsoll(*arguments, cwd=home, env=environment)


def compressed(home, config="", arguments=()):
    done = run(home, [*BASE, *arguments], config)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def test_context_engine_unknown_is_reported_and_check_fails(home):
    config = "context:\n  engine: nosuch\n"
    assert "nosuch" in run(home, BASE, config).stderr
    assert run(home, ["config", "check"], config).returncode == 2
    assert run(home, ["config", "check"], "context:\n  engine: compressor\n").returncode == 0


def test_compression_threshold_moves_the_line(home):
    shown = run(home, ["compress", "--example", "--no-model"], "compression:\n  threshold: 0.25\n").stdout
    assert "due at 16,000" in shown


def test_compression_target_ratio_makes_the_tail_larger(home):
    small = compressed(home, "compression:\n  target_ratio: 0.1\n  protect_last_n: 1\n")
    large = compressed(home, "compression:\n  target_ratio: 0.8\n  protect_last_n: 1\n")
    assert small["tokens_after"] < large["tokens_after"]


def test_compression_evidence_appends_exact_quotes_to_the_summary(home):
    with_quotes = compressed(home, arguments=["--summary"])
    without = compressed(home, "compression:\n  evidence: false\n", ["--summary"])
    assert with_quotes["evidence"].startswith("## Evidence\n")
    assert without["evidence"] == ""
    assert "## Critical Context" in without["summary"]
    assert without["tokens_after"] < with_quotes["tokens_after"]


def test_compression_threshold_of_zero_compacts_what_is_far_below_the_default(home):
    arguments = ["--window", "1M"]
    assert compressed(home, arguments=arguments)["outcome"] == "unchanged"
    assert compressed(home, "compression:\n  threshold: 0\n", arguments)["outcome"] == "compacted"


def test_compression_protect_last_n_keeps_more_messages(home):
    few = compressed(home, "compression:\n  protect_last_n: 1\n  target_ratio: 0.1\n")
    many = compressed(home, "compression:\n  protect_last_n: 60\n  target_ratio: 0.1\n")
    assert many["messages_after"] >= few["messages_after"] + 20


def test_model_context_length_is_the_window(home):
    shown = run(home, ["compress", "--example", "--no-model", "--model", "gpt-5"], "").stdout
    other = run(home, ["compress", "--example", "--no-model", "--window", "20K"], "").stdout
    assert "window 20,000" in other
    assert "window 20,000" not in shown


def test_model_cards_override_the_shipped_facts(home):
    config = "model:\n  cards:\n    gpt-5: {window: 50000}\n"
    assert (
        "window 50,000"
        in run(home, ["compress", "--example", "--no-model", "--model", "gpt-5"], config).stdout
    )


def test_model_cards_media_removes_old_images(home, tmp_path):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
    asked = [{"role": "user", "content": [image]}, {"role": "assistant", "content": "Seen."}] * 4
    (tmp_path / "images.json").write_text(json.dumps(asked), "utf-8")
    arguments = ["compress", str(tmp_path / "images.json"), "--no-model", "--model", "gpt-5", "-o", "-"]
    plain = run(home, arguments).stdout
    limited = run(home, arguments, "model:\n  cards:\n    gpt-5: {media: {images: 2}}\n").stdout
    assert (plain.count("base64,"), limited.count("base64,")) == (4, 1)


def test_prompt_caching_cache_ttl_changes_the_bill(home, tmp_path):
    bills = [cost(home, tmp_path, f'prompt_caching:\n  cache_ttl: "{ttl}"\n') for ttl in ("5m", "1h")]
    assert bills[0] != bills[1]


def test_prompt_caching_strategy_changes_the_bill(home, tmp_path):
    bills = [cost(home, tmp_path, f"prompt_caching:\n  strategy: {name}\n") for name in ("none", "planned")]
    assert bills[0] > bills[1]


def cost(home, tmp_path, config):
    assert run(home, ["compress", "--example", "--no-model", "-o", str(tmp_path / "c.json")]).returncode == 0
    done = run(home, ["cost", str(tmp_path / "c.json"), "--model", "claude-sonnet-4.5", "--json"], config)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["strategies"][found["chosen"]]["usd"]


def chatted(home, config, tool, **arguments):
    """What a tool gave to a model that calls it once, and what the chat said beside the answer."""
    given = []

    def answer(request):
        last = dict(request.messages[-1])
        if last["role"] == "tool":
            given.append(last["content"])
        offered = [one["function"]["name"] for one in request.tools]
        return call(tool, **arguments) if not given and tool in offered else say("Done.")

    with ScriptedServer(answer) as server:
        model = f"model:\n  name: gpt-5\n  base_url: {server.openai_url}\n"
        done = run(home, ["chat", "-q", "Go on."], model + config)
    assert done.returncode == 0, done.stderr
    return (given[0] if given else None), done.stderr


def test_tools_timeout_ends_a_command(home):
    given, _ = chatted(home, "tools:\n  timeout: 0.5\n", "terminal", command="sleep 60")
    assert "[timed out after 0.5 s; the command and its child processes were terminated]" in given


def test_tools_output_limit_shortens_what_the_model_sees(home):
    limited, _ = chatted(home, "tools:\n  output_limit: 1000\n", "terminal", command="seq 10000")
    usual, _ = chatted(home, "", "terminal", command="seq 10000")
    assert len(limited) < 1_200 < 5_000 < len(usual)  # with a line that says where the whole is


def test_tools_edits_plan_changes_no_file(home):
    planned, _ = chatted(home, "tools:\n  edits: plan\n", "write_file", path="x", content="y")
    assert "the user wants a plan first" in planned
    assert not (home / "x").exists()
    chatted(home, "tools:\n  edits: accept\n", "write_file", path="x", content="y")
    assert (home / "x").read_text("utf-8") == "y"


def test_tools_terminal_allow_runs_a_program_without_asking(home):
    assert "tools.terminal.allow" in chatted(home, "", "terminal", command="touch x")[0]
    allowed, _ = chatted(home, "tools:\n  terminal:\n    allow: [touch]\n", "terminal", command="touch x")
    assert allowed == "exit code: 0"


def test_tools_terminal_sandbox_without_bubblewrap_says_what_to_install(home, tmp_path):
    config = "tools:\n  terminal: {sandbox: true}\n"
    done = run(
        home, ["chat", "--provider", "openai", "-q", "Hello"], config, PATH=str(tmp_path), OPENAI_API_KEY="x"
    )
    assert done.returncode != 0
    assert "apt-get install bubblewrap" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("network", [False, True])
def test_tools_terminal_network_opens_the_sandbox_to_the_network(home, network):
    tried = (
        subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"], capture_output=True)
        if shutil.which("bwrap")
        else None
    )
    if tried is None or tried.returncode:
        pytest.skip("bubblewrap is missing or cannot run here, so THE SANDBOX WAS NOT TESTED")
    config = f"tools:\n  terminal: {{sandbox: true, network: {str(network).lower()}, allow: ['*']}}\n"
    shown, _ = chatted(home, config, "terminal", command="readlink /proc/self/ns/net")
    assert (str(Path("/proc/self/ns/net").readlink()) in shown) is network


def server(*lines):
    return "mcp_servers:\n  demo:\n" + "".join(f"    {line}\n" for line in lines)


def test_mcp_servers_command_and_args_start_a_server(home):
    config = server(f"command: {sys.executable}", f"args: [{SCRIPT}]")
    assert chatted(home, config, "mcp_demo_add", a=1, b=2)[0] == "3"
    assert chatted(home, "", "mcp_demo_add", a=1, b=2)[0] is None


def test_mcp_servers_env_reaches_the_server(home):
    config = server(f"command: {sys.executable}", f"args: [{SCRIPT}]", "env: {A_WORD: lantern}")
    assert chatted(home, config, "mcp_demo_odd_name_with_spaces", token="A_WORD")[0] == "lantern"


def test_mcp_servers_enabled_false_leaves_a_server_out(home):
    config = server(f"command: {sys.executable}", f"args: [{SCRIPT}]", "enabled: false")
    given, beside = chatted(home, config, "mcp_demo_add", a=1, b=2)
    assert given is None
    assert "note: " not in beside


def test_mcp_servers_timeout_is_how_long_a_server_is_waited_for(home):
    silent = "import time; time.sleep(600)"
    config = server(f"command: {sys.executable}", f"args: [-c, {json.dumps(silent)}]", "timeout: 0.5")
    assert "did not answer within 0.5 s, its mcp_servers.demo.timeout" in chatted(home, config, "none")[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_mcp_servers_url_names_a_server_over_http(home):
    port = free_port()
    process = subprocess.Popen([sys.executable, SCRIPT, str(port)], stderr=subprocess.DEVNULL)
    try:
        while not listens(port):
            assert process.poll() is None
            time.sleep(0.05)
        config = server(f"url: http://127.0.0.1:{port}/mcp")
        assert chatted(home, config, "mcp_demo_add", a=1, b=2)[0] == "3"
    finally:
        process.kill()
        process.wait()


def test_mcp_servers_headers_come_with_every_request(home):
    seen = []

    class Refuses(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.headers["X-Word"])
            self.send_error(403)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        config = server(f"url: http://127.0.0.1:{listening.server_port}/mcp", "headers: {X-Word: lantern}")
        beside = chatted(home, config, "none")[1]
        listening.shutdown()
    assert set(seen) == {"lantern"}
    assert "the MCP server 'demo'" in beside
    assert "lantern" not in beside


def test_auxiliary_compression_idle_timeout_ends_the_wait_for_a_silent_model(home):
    with ScriptedServer([fault("hang", times=None)]) as model:
        config = (
            "auxiliary:\n  compression:\n    model: small\n    provider: custom\n"
            f"    base_url: {model.openai_url}\n    idle_timeout: 0.25\n"
        )
        done = run(home, ["compress", "--example"], config)
    assert done.returncode == 0, done.stderr
    assert "sent no new token for 0.25 s" in done.stderr


def test_compression_prompt_file_changes_what_the_summary_model_is_asked(home, tmp_path):
    file = tmp_path / "prompt.md"
    file.write_text("Write in British English.\n\n## Deployment\nwhich version runs where\n", "utf-8")
    with ScriptedServer(lambda _request: say("A summary.")) as model:
        config = (
            f"auxiliary:\n  compression:\n    model: small\n    provider: custom\n    base_url: {model.openai_url}\n"
            f"compression:\n  prompt_file: {file}\n"
        )
        done = run(home, ["compress", "--example"], config)
        asked = str(model.requests[0].request.messages)
    assert done.returncode == 0, done.stderr
    assert "Write in British English." in asked
    assert "## Deployment" in asked
    missing = f"compression:\n  prompt_file: {tmp_path}/none.md\n"
    for command in (BASE, ["config", "check"]):
        refused = run(home, command, missing)
        assert refused.returncode != 0
        told = " ".join((refused.stdout + refused.stderr).split())
        assert "compression.prompt_file: cannot read" in told
        assert "Traceback" not in told


def test_model_and_auxiliary_compression_api_mode_choose_the_wire(home):
    with ScriptedServer(lambda _request: say("A summary."), model="gemini-2.5-flash") as model:
        config = (
            f"model:\n  name: large\n  base_url: {model.url}\n  api_mode: anthropic_messages\n"
            "auxiliary:\n  compression:\n    model: gemini-2.5-flash\n    provider: custom\n"
            f"    base_url: {model.url}\n    api_mode: gemini\n"
        )
        asked = run(home, ["compress", "--example"], config)
        summaries = {seen.dialect for seen in model.requests}
        chatted = run(home, ["chat", "-q", "Hello"], config)
        turns = {seen.dialect for seen in model.requests} - summaries
    assert asked.returncode == 0, asked.stderr
    assert summaries == {"gemini"}, asked.stderr
    assert turns == {"anthropic"}, chatted.stderr


def test_an_environment_variable_outranks_the_file(home):
    config = "compression:\n  threshold: 0.25\n"
    done = run(home, ["compress", "--example", "--no-model"], config, PLIMSOLL_COMPRESSION__THRESHOLD="0.125")
    assert "due at 8,000" in done.stdout


def test_a_flag_outranks_the_environment(home):
    arguments = ["compress", "--example", "--no-model", "--threshold", "0.0625"]
    done = run(home, arguments, "", PLIMSOLL_COMPRESSION__THRESHOLD="0.125")
    assert "due at 4,000" in done.stdout
