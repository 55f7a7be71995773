"""Attacks on redaction: secrets in manifests, tables, code and commands. Samples are made at run time."""

import base64
import json
import random
import string

import pytest

from plimsoll.secrets import redact

_made = random.Random(11)
_MIXED = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def _some(count: int, alphabet: str = _MIXED) -> str:
    return "".join(_made.choice(alphabet) for _ in range(count))


PASSWORD = "k7" + _some(12)
RANDOM = "7Q" + _some(38)
HEX = "4f" + _some(30, _HEX)
KEY = base64.b64encode(_made.randbytes(64)).decode()
LONG = "aZ9" + _some(2_000)
NOISE = "t9?" + "".join(_made.choice("aB7 $~^;%&") for _ in range(61))
WORDS = "absurd accident access abuse able about abstract absent ability abandon absorb above"
PEM = [base64.b64encode(_made.randbytes(48)).decode() for _ in range(4)]
PEM_LINES = ["-----BEGIN RSA PRIVATE" + " KEY-----", *PEM, "-----END RSA PRIVATE" + " KEY-----"]
BOT = f"M{_some(23)}.x{_some(5)}.7{_some(37)}"

WRITTEN = {
    "manifest": (f"kind: Secret\ndata:\n  anything: {KEY}\n  other: {HEX}\n", (KEY, HEX)),
    "manifest with line numbers": (f"     1\tkind: Secret\n     2\tdata:\n     3\t  x: {KEY}\n", (KEY,)),
    "manifest in a diff": (f"+kind: Secret\n+stringData:\n+  greeting: {PASSWORD}\n", (PASSWORD,)),
    "manifest as JSON": (json.dumps({"data": {"x": KEY}, "kind": "Secret"}, indent=1), (KEY,)),
    "kubeconfig": (f"    client-key-data: {KEY}", (KEY,)),
    "long value in quotes": (f'"SessionToken": "{LONG}"', (LONG[-40:],)),
    "long value without quotes": (f"export AWS_SESSION_TOKEN={LONG}", (LONG[-40:],)),
    "type in Rust": (f'let client_secret: &str = "{PASSWORD}";', (PASSWORD,)),
    "type in TypeScript": (f"const JWT_SECRET: string = '{PASSWORD}';", (PASSWORD,)),
    "type in Go": (f'var apiToken string = "{PASSWORD}"', (PASSWORD,)),
    "object of JavaScript": (f"db.createUser({{user: 'app', pwd: '{PASSWORD}'}})", (PASSWORD,)),
    "wrapped value": (f"Settings(db_password=SecretStr('{PASSWORD}'))", (PASSWORD,)),
    "pair of requests": (f'requests.get(u, auth=("joe", "{PASSWORD}"))', (PASSWORD,)),
    "pair of smtplib": (f"server.login('joe@x.org', '{PASSWORD}')", (PASSWORD,)),
    "Dockerfile": (f"ENV API_TOKEN {PASSWORD}\n", (PASSWORD,)),
    "fish": (f"set -gx NPM_TOKEN {PASSWORD}", (PASSWORD,)),
    "name and random value": (f"I used the access token {HEX} for it", (HEX,)),
    "key of its own": (f'key = "{KEY}"', (KEY,)),
    "salt with spaces": (f"define('AUTH_SALT',    '{NOISE}');", (NOISE,)),
    "two words in a token": (f'FLY_TOKEN="V1 m2_{RANDOM}"', (RANDOM,)),
    "parts joined by dots": (f"client.run('{BOT}')", (BOT,)),
    "URL-safe Base64": (f"here: zz9_{_some(9)}-7{_some(20)}_{RANDOM}", (RANDOM,)),
    "words of a wallet": (f'MNEMONIC="{WORDS}"', ("absorb above",)),
    "sentence with an object": (f"the password for the staging db is {PASSWORD}, ok", (PASSWORD,)),
    "German sentence": (f"Das Passwort für den Server lautet {PASSWORD}", (PASSWORD,)),
    "Spanish sentence": (f"la contraseña del servidor es {PASSWORD}", (PASSWORD,)),
    "Markdown table": (f"| user | password |\n|---|---|\n| joe | {PASSWORD} |", (PASSWORD,)),
    "CSV": (f"user,api_key,plan\njoe,{HEX},free\n", (HEX,)),
    "chpasswd": (f"echo 'deploy:{PASSWORD}' | sudo chpasswd", (PASSWORD,)),
    "sudo": (f"echo {PASSWORD} | sudo -S apt update", (PASSWORD,)),
    "options of any client": (f"cqlsh -u admin -p {PASSWORD} 10.0.0.1", (PASSWORD,)),
    "capital option": (f"sqlcmd -S db -U sa -P '{PASSWORD}' -Q 'select 1'", (PASSWORD,)),
    "key as user of curl": (f"curl -u rd_{HEX}: https://x.org", (HEX,)),
    "lftp": (f"lftp -u joe,{PASSWORD} sftp://x.org", (PASSWORD,)),
    "expect": (f'expect "password:"\nsend "{PASSWORD}\\r"', (PASSWORD,)),
    "sqlplus": (f"sqlplus system/{PASSWORD}@//db:1521/XE", (PASSWORD,)),
    "rabbitmqctl": (f"rabbitmqctl add_user app {PASSWORD}", (PASSWORD,)),
    "net use": (f"net use Z: \\\\fs\\x {PASSWORD} /user:acme\\bot", (PASSWORD,)),
    "vault login": (f"vault login s.{RANDOM}", (RANDOM,)),
    "user and password": (f"login: admin / {PASSWORD}", (PASSWORD,)),
    "parameter": (f"https://api.x.org/data?q=Bonn&appid={HEX}", (HEX,)),
    "key that cat -A shows": ("\n".join(f"{line}$" for line in PEM_LINES), tuple(PEM)),
    "end of a key in JSON": ("\\n".join(PEM_LINES[2:]), tuple(PEM[1:])),
}
LOOK_ALIKES = (
    "kind: ConfigMap\ndata:\n  LOG_LEVEL: debug\n  HOST: db.x.org",
    "kind: SecretProviderClass\nspec:\n  data:\n    a: b",
    "kind: Deployment\n---\nkind: Secret\nmetadata:\n  name: db\n  labels:\n    app: web",
    "let token: string;", "const token: string = await login();", 'password: String = ""', "var apiKey string",
    "fn verify(secret: &[u8], token: &str) -> bool", "auth=(user, password)", "auth=('user', os.environ['PW'])",
    "client.login(username, password)", "ENV NODE_VERSION 20.12.2", "set -gx EDITOR vim",
    "the password for the database is stored in 1Password", "the token for CI is kept in Vault",
    "the api key for production is missing", 'key = "created_at"', f"key: linux-node-{HEX}{HEX}",
    f"public_key: {KEY[:42]}Aa=", f"PublicKey = {KEY[:42]}Aa=", "mnemonic: a phrase that helps you remember",
    "vault login -method=oidc", "rabbitmqctl list_users", "docker compose -p acme up",
    "echo hello | sudo tee /etc/motd",
    "| token | count |\n|---|---|\n| gpt-4o | 12 |", "name,key,value\nsize,width,12\n",
    f"     1\ttoken\tcount\n     2\t{HEX}\t3", "xai-grok-4-fast-reasoning-beta", "pypi-attestations-verification",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-6tn6EO", "postgres://user:password@localhost:5432/db",
    "mysql://USER:PASS@HOST/DB", "com.fasterxml.jackson.databind.ObjectMapper", "docker run -u 1000 -p 8080:80 app",
    "psql -U app -p 5433 main", "curl -u admin: https://x.org", f"Message-ID: <{RANDOM}@mail.example.com>",
)  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_a_secret_is_found_in_documents_code_and_commands(written: str) -> None:
    text, secrets = WRITTEN[written]
    once = redact(text)
    assert [secret for secret in secrets if secret in once] == []
    assert redact(once) == once


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_documents_code_and_commands_without_a_secret_stay(text: str) -> None:
    assert redact(text) == text


def test_everything_around_the_values_of_a_manifest_and_a_table_stays() -> None:
    manifest = (
        f"kind: Secret\nmetadata:\n  name: db\ndata:\n  a: {KEY}\n---\nkind: ConfigMap\ndata:\n  b: c\n"
    )
    assert redact(manifest) == manifest.replace(KEY, "[redacted]")
    table = f"| user | password |\n|---|---|\n| joe | {PASSWORD} |\n| ann | unset |\n\nafter"
    assert redact(table) == table.replace(PASSWORD, "[redacted]")
