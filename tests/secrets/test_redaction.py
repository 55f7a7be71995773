"""Secrets go, their names stay, and nothing that merely looks long is touched."""

import re
from re import _constants, _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.secrets import MARK, redact
from plimsoll.secrets.assigned import VALUE
from plimsoll.secrets.contexts import steps
from plimsoll.secrets.key_formats import patterns
from plimsoll.secrets.private_keys import PEM

# Every pattern that reads other people's text.
ALL_PATTERNS = (PEM, *(step.pattern for step in steps()), *patterns(), VALUE)

KEY = "abcdefghijKLMNOPQRST0123456789uvwxyz"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY * 2}\n{KEY}==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SHAPES = {
    "openai": f"sk-{KEY}",
    "openai project": f"sk-proj-{KEY}",
    "anthropic": f"sk-ant-api03-{KEY}",
    "openrouter": "sk-or-v1-" + "0a1b2c3d" * 8,
    "github": f"ghp_{KEY}",
    "github app": f"gho_{KEY}",
    "github fine-grained": f"github_pat_11AAAA_{KEY}",
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "aws temporary": "ASIAIOSFODNN7EXAMPLE",
    "google": f"AIza{KEY}",
    "hugging face": f"hf_{KEY}",
    "gitlab": "glpat-abcdefghij1234567890",
    "npm": f"npm_{KEY}",
    "stripe": f"sk_live_{KEY}",
    "jwt": JWT,
}
# text, what must be gone, what must still be there
ASSIGNED = [
    ("OPENAI_API_KEY=whatever-9-is-here", "whatever-9", "OPENAI_API_KEY="),
    ("export DB_PASSWORD=swordfish", "swordfish", "export DB_PASSWORD="),
    ('{"user": "joe", "password": "hunter2"}', "hunter2", '"user": "joe", "password": "'),
    (r"{\"password\": \"hunter2\"}", "hunter2", r"\"password\": "),
    ("passwd: hunter2", "hunter2", "passwd: "),
    ("db:\n  password: swordfish\n  host: db", "swordfish", "host: db"),
    ("client_secret: 'abC123xyz'", "abC123xyz", "client_secret"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI", "aws_secret_access_key"),
    ("mysql --password=hunter2 -h db", "hunter2", "-h db"),
    ("tool --token abcdef123456 --verbose", "abcdef123456", "--verbose"),
    ('passphrase = "correct horse battery staple"', "battery", "passphrase"),
    ("admin_token: 0f1e2d3c4b5a", "0f1e2d3c4b5a", "admin_token"),
    ("Authorization: Bearer abc.def.123456", "abc.def", "Authorization: Bearer "),
    ("-H 'Authorization: Basic dXNlcjpwYXNzd29yZA=='", "dXNlcj", "Basic"),
    ("X-Api-Key: abcdef0123456789", "abcdef0123", "X-Api-Key: "),
    ("send Bearer a1b2c3d4e5f6g7 along", "a1b2c3", "along"),
    ("curl -u joe:hunter2 https://x.org/a", "hunter2", "https://x.org/a"),
    ("postgres://app:hunter2@db.example.com:5432/main", "hunter2", "@db.example.com:5432/main"),
    ("https://joe:p@ss@host.org/x", "p@ss", "https://"),
    ("redis://:hunter2@cache:6379/0", "hunter2", "@cache:6379/0"),
    ("https://0123456789abcdef0123@github.com/a/b", "0123456789abcdef", "@github.com/a/b"),
    ("Server=db;User Id=sa;Password=Pa55w0rd!;Encrypt=true", "Pa55w0rd", "Encrypt=true"),
    ("Server=db;Uid=sa;Pwd=Pa55w0rd!", "Pa55w0rd", "Uid=sa"),
    ("AccountName=x;AccountKey=abc123DEF456ghi789==;EndpointSuffix=y", "abc123DEF", "EndpointSuffix=y"),
    ("GET /v1?key=abcdef0123456789abcd&x=1", "abcdef0123", "&x=1"),
]
ORDINARY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"integrity": "sha512-6oQ1fXvRSA3jUr0s4RGEDrTBbwjFRYXPkQ=="',
    "token count: 512",
    "max_tokens=4096",
    "token: 512",
    "password reset flow",
    "the secret to good tests",
    "Secret: keep it simple",
    "password: str = Form(...)",
    "login(user=user, password=password)",
    "token = get_token(12345678)",
    "self.token = token",
    'api_key=os.environ["OPENAI_API_KEY"]',
    "api_key = settings.api_key",
    '"api_key": "OPENAI_API_KEY"',
    'eos_token: "</s>"',
    'nextPageToken: "CAUQAA12"',
    "primary_key: id_12345678",
    "PASSWORD=$DB_PASSWORD",
    "password: ********",
    '"password": "<your password>"',
    'if token == "abc12345": pass',
    "docker run -u 1000:1000 image",
    "secret: /var/run/secrets/token",
    "sk-learn-based-pipeline",
    "src/token/secret/password.py:12",
    "git@github.com:a/b.git",
    "http://localhost:8000/users/@me",
    "Bearer authentication, then Basic authentication",
    '"token": "Enter your token here"',
    "-----BEGIN PRIVATE KEY----- is how the file should begin",
    "api_key_env: OPENAI_API_KEY",
]


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("around", ["{}", "it is {}.", '"{}"', "x={}\n", "({})", "`{}`", "a,{},b"])
def test_a_key_of_a_known_shape_is_removed_everywhere(secret, around):
    assert redact(around.format(secret)) == around.format(MARK)


@pytest.mark.parametrize(("text", "gone", "kept"), ASSIGNED, ids=lambda value: str(value)[:30])
def test_the_value_is_removed_and_the_name_stays(text, gone, kept):
    redacted = redact(text)
    assert gone not in redacted
    assert MARK in redacted
    assert kept in redacted


@pytest.mark.parametrize("text", ORDINARY, ids=lambda text: text[:30])
def test_ordinary_text_is_not_touched(text):
    assert redact(text) == text
    assert redact(f"before\n{text}\nafter") == f"before\n{text}\nafter"


def test_a_private_key_is_removed_whole():
    assert redact(f"see\n{PEM}\ndone") == (
        f"see\n-----BEGIN RSA PRIVATE KEY-----{MARK}-----END RSA PRIVATE KEY-----\ndone"
    )


@pytest.mark.parametrize("length", range(60, len(PEM) - 28, 7))
def test_a_private_key_that_was_cut_off_is_removed_up_to_its_end(length):
    redacted = redact(PEM[:length] + "\n[truncated]")
    assert KEY[:12] not in redacted
    assert redacted.endswith("[truncated]")


def test_a_private_key_inside_json_is_removed_too():
    redacted = redact('{"key": "' + PEM.replace("\n", "\\n") + '", "id": 7}')
    assert KEY[:12] not in redacted
    assert redacted.endswith('", "id": 7}')


def test_every_line_of_an_environment_file_keeps_its_name():
    text = "A_TOKEN=abc123def456\nPORT=8080\nB_SECRET=s3cr3t!x\nDEBUG=true\n"
    assert redact(text) == f"A_TOKEN={MARK}\nPORT=8080\nB_SECRET={MARK}\nDEBUG=true\n"


def some_text():
    secrets = st.sampled_from([*SHAPES.values(), PEM, *(text for text, _, _ in ASSIGNED)])
    glue = st.sampled_from(
        ["", " ", "\n", '"', "'", ":", "=", "@", "://", "[", "\\", "--", "password=", "token: "]
    )
    return st.lists(secrets | glue | st.sampled_from(ORDINARY) | st.text(max_size=20), max_size=12).map(
        "".join
    )


@given(some_text())
def test_doing_it_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


@given(st.text(), st.sampled_from(list(SHAPES.values())), st.text())
def test_no_surroundings_save_a_key_from_going(before, secret, after):
    assert secret not in redact(f"{before} {secret} {after}")


@given(st.text(alphabet="abc \n.,0123456789", max_size=300))
def test_text_without_anything_secret_is_returned_as_it_is(text):
    assert redact(text) == text


def repeats(parsed, inside=0):
    """Every repetition of a pattern: whether it can give back what it took, its bound, how deep it is nested."""
    for operation, argument in parsed:
        if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            _, high, body = argument
            yield operation is not _constants.POSSESSIVE_REPEAT, high, inside
            yield from repeats(body, inside + (high > 1))
        elif operation is _constants.BRANCH:
            for branch in argument[1]:
                yield from repeats(branch, inside)
        elif operation in (_constants.SUBPATTERN, _constants.ATOMIC_GROUP):
            yield from repeats(argument[-1] if operation is _constants.SUBPATTERN else argument, inside)
        elif operation in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from repeats(argument[1], inside)


@pytest.mark.parametrize("pattern", ALL_PATTERNS, ids=lambda pattern: pattern.pattern[:30])
def test_no_pattern_can_do_more_than_bounded_work_at_one_place(pattern: re.Pattern[str]):
    for gives_back, most, nested in repeats(_parser.parse(pattern.pattern, pattern.flags)):
        if gives_back:
            assert most <= 400
            assert not nested or most <= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    ["sk-", "ghp_", "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\nAAAA", "://", "://a:", "http://a:a", "curl -u ",
     "password", 'password:"a', 'token="\\\\', "--password ", "Authorization: ", "Bearer ", "?key=", ";pwd=", "a",
     "user x7Kd9fQ2 ", "secret --value ", "connect(a,", "mot de passe ", "пароль ",
     "$6$aaaa", "-u joe:a1", "codes: a1b2 "],
)  # fmt: skip
def test_a_megabyte_made_to_be_slow_is_read_to_its_end(seed):
    # A pattern that tried again from every place would not come back from this within a day.
    text = (seed * (1_000_000 // len(seed) + 1))[:1_000_000]
    assert len(redact(f"{text}\n{SHAPES['aws']}")) > 0
    assert SHAPES["aws"] not in redact(f"{text}\n {SHAPES['aws']}\n")
